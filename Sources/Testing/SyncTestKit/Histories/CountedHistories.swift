public import SyncAuthority
import SyncConcurrency
public import SyncModel

/// A keeper that names new histories by counting and records the lost ones, so that every run is the same.
public final class CountedHistories: HistoryKeeper {
    private let losses = Guarded([LostHistory]())
    private let count = Guarded(0)

    /// Starts counting at 1: the first new history has the epoch `renewed-1`.
    public init() {}

    /// The lost histories, in the order of their loss.
    public var lost: [LostHistory] { losses.withLock(\.self) }

    public func nextHistory() -> HistoryIdentity {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return .fixed(Epoch(rawValue: "renewed-\(number)"))
    }

    public func historyWasLost(_ lost: LostHistory, next: Epoch) {
        losses.withLock { $0.append(lost) }
    }
}

extension HistoryIdentity {
    /// Returns a history whose key depends on the epoch's name alone, so that it is the same in every run.
    public static func fixed(_ epoch: Epoch) -> HistoryIdentity {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in epoch.rawValue.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return HistoryIdentity(epoch: epoch, key: HistoryKey(words: (hash, 1, 2, 3)))
    }
}

extension Authority {
    /// Creates an authority that names new histories by counting.
    public init(store: any AuthorityStore, catalog: SchemaCatalog, policy: AuthorityPolicy = AuthorityPolicy()) {
        self.init(store: store, catalog: catalog, policy: policy, histories: CountedHistories())
    }
}

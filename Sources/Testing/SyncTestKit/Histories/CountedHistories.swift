public import SyncAuthority
import SyncConcurrency
public import SyncModel

/// Names new histories by counting, and remembers the lost ones: the same in every run.
public final class CountedHistories: HistoryKeeper {
    private let losses = Guarded([LostHistory]())
    private let count = Guarded(0)

    public init() {}

    /// The histories that were lost, in their order.
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
    /// A history with a key that is the same in every run, and different for each name.
    public static func fixed(_ epoch: Epoch) -> HistoryIdentity {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in epoch.rawValue.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return HistoryIdentity(epoch: epoch, key: HistoryKey(words: (hash, 1, 2, 3)))
    }
}

extension Authority {
    /// An authority whose new histories are counted.
    public init(store: any AuthorityStore, catalog: SchemaCatalog, policy: AuthorityPolicy = AuthorityPolicy()) {
        self.init(store: store, catalog: catalog, policy: policy, histories: CountedHistories())
    }
}

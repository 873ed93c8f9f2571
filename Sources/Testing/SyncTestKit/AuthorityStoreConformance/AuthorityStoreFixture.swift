import SyncAuthority
import SyncModel

/// A store under test, with the helpers that the rules use.
struct AuthorityStoreFixture {
    static let history = HistoryIdentity.fixed(Epoch(rawValue: "conformance-1"))

    let store: any AuthorityStore
    let rule: String

    func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try store.read(body)
    }

    @discardableResult
    func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        try store.write(body)
    }

    func expect<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) throws {
        guard found == expected else {
            throw AuthorityStoreConformance.Violation(
                rule: rule, detail: "\(what): expected \(expected), found \(found)")
        }
    }

    // MARK: Values

    static func client(_ number: UInt64) -> ClientID { ClientID(bits: Identifier128(high: 1 << 63, low: number)) }

    static func id(_ number: UInt64) -> RecordID { RecordID(bits: Identifier128(high: .max, low: number)) }

    static func stamp(_ time: UInt64, _ number: UInt64 = 1) -> Stamp {
        Stamp(time: HybridTime(rawValue: time), client: client(number))
    }

    static func origin(_ version: Int64, _ time: UInt64, _ number: UInt64 = 1) -> FieldOrigin {
        FieldOrigin(version: Version(version), stamp: stamp(time, number), incarnation: Int(number % 3))
    }

    static func author(_ number: Int64, principal: String = "anna") -> CommitAuthor {
        CommitAuthor(
            principal: Principal(name: principal), identity: ClientIdentity(client: client(3), incarnation: 2),
            number: TransactionNumber(number), committedAt: WallTime(milliseconds: 1_800_000_000_000 + number))
    }

    static func key(_ principal: String, _ number: UInt64 = 1, incarnation: Int = 0) -> LedgerKey {
        LedgerKey(
            principal: Principal(name: principal),
            identity: ClientIdentity(client: client(number), incarnation: incarnation))
    }

    static func record(
        _ number: UInt64, of collection: CollectionName = "user", uid: Int64, space: SpaceID = .default,
        version: Int64 = 1, deletion: Stamp? = nil, fields: [(FieldName, FieldValue, FieldOrigin)] = []
    ) -> StoredRecord {
        StoredRecord(
            address: RecordAddress(collection, id(number)), uid: UID(uid), space: space, version: Version(version),
            creation: RecordCreation(origin: origin(1, 5), claimedTime: HybridTime(rawValue: .max)),
            deletion: deletion, fields: fields.map { StoredField(name: $0.0, value: $0.1, origin: $0.2) })
    }

    static func fingerprint(_ number: UInt64) -> HistoryFingerprint {
        HistoryFingerprint(bits: Identifier128(high: number, low: .max))
    }

    static func commit(_ version: Int64, changes: Int = 1) -> Commit {
        Commit(
            version: Version(version),
            changes: (0..<changes).map { index in
                RecordChange(
                    collection: "user", id: id(UInt64(index)), effect: .updated(["rank": .integer(version)]))
            })
    }

    /// A byte budget so large that it never ends a page.
    static let ample = 1 << 40
}

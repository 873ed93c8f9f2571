public import SyncCore
public import SyncModel

/// The rules that every implementation of the local store must satisfy, as plain checks that any test framework can
/// run.
///
/// ```swift
/// let suite = LocalStoreConformance { catalog in try MyStore.inMemory(catalog) }
/// for rule in suite.rules { try suite.run(rule) }
/// ```
public struct LocalStoreConformance<Store: LocalStore & EngineStore> {
    /// Makes a new empty store for each call, which has not met a server yet.
    private let makeStore: (SchemaCatalog) throws -> Store

    /// The number of unhandled notices at which these stores request no more; nil when it is too large for a check.
    let noticeEntries: Int?

    /// Creates the suite for one kind of store.
    ///
    /// - Parameters:
    ///   - noticeEntries: the number of unhandled notices at which a store requests no more; nil skips the rules about
    ///     it.
    ///   - makeStore: makes a new empty store for each call, which has not met a server yet.
    public init(noticeEntries: Int? = nil, makeStore: @escaping (SchemaCatalog) throws -> Store) {
        self.noticeEntries = noticeEntries
        self.makeStore = makeStore
    }

    /// The names of all rules, the simple ones first.
    public var rules: [String] {
        checks.map(\.rule)
    }

    /// Runs one rule against a new store.
    ///
    /// - Throws: `ConformanceViolation` when the store breaks the rule, or an unexpected error from the store.
    public func run(_ rule: String) throws {
        guard let check = checks.first(where: { $0.rule == rule }) else {
            throw ConformanceViolation(rule: rule, detail: "there is no such rule")
        }
        let fixture = StoreFixture(store: try makeStore(StoreFixture<Store>.catalog), rule: rule)
        try fixture.store.follow(fixture.space)
        try check.body(fixture)
    }

    /// Runs all rules and returns the violations.
    public func run() -> [ConformanceViolation] {
        checks.compactMap { check in
            do {
                try run(check.rule)
                return nil
            } catch let violation as ConformanceViolation {
                return violation
            } catch {
                return ConformanceViolation(rule: check.rule, detail: "the store threw: \(error)")
            }
        }
    }

    struct Check {
        let rule: String
        let body: (StoreFixture<Store>) throws -> Void

        init(_ rule: String, _ body: @escaping (StoreFixture<Store>) throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    private var checks: [Check] {
        commitChecks + joiningChecks + stampChecks + pushChecks + heldChecks + pullChecks + snapshotChecks + spaceChecks
            + followChecks + accessChecks + journalChecks + queryChecks + restoreChecks + identityChecks + noticeChecks
            + noticeBoundChecks + randomChecks
    }
}

/// A violation of a rule by an implementation.
public struct ConformanceViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the broken rule, as the suite's `rules` lists it.
    public let rule: String
    /// The value that was found, and the one that was expected.
    public let detail: String

    /// - Parameters:
    ///   - rule: the name of the broken rule.
    ///   - detail: the value that was found, and the one that was expected.
    public init(rule: String, detail: String) {
        self.rule = rule
        self.detail = detail
    }

    public var description: String { "\(rule): \(detail)" }
}

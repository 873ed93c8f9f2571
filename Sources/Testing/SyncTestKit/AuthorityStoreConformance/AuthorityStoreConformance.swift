public import SyncAuthority
import SyncModel

/// The rules that every authority's store must satisfy, as plain checks that any test framework can run.
///
/// ```swift
/// let suite = AuthorityStoreConformance { history in try MyStore(newHistory: history) }
/// for rule in AuthorityStoreConformance.ruleNames { try suite.run(rule) }
/// ```
public struct AuthorityStoreConformance {
    /// Makes a new empty store for each call.
    private let makeStore: (HistoryIdentity) throws -> any AuthorityStore

    /// Creates the suite for one kind of store.
    ///
    /// - Parameter makeStore: makes a new empty store at the beginning of the given history, for each call.
    public init(makeStore: @escaping (HistoryIdentity) throws -> any AuthorityStore) {
        self.makeStore = makeStore
    }

    /// The names of all rules, the simple ones first.
    public static let ruleNames: [String] = checks.map(\.rule)

    /// Runs one rule against a new store.
    ///
    /// - Throws: `Violation` when the store breaks the rule, or an unexpected error from the store.
    public func run(_ rule: String) throws {
        guard let check = Self.checks.first(where: { $0.rule == rule }) else {
            throw Violation(rule: rule, detail: "there is no such rule")
        }
        try check.body(AuthorityStoreFixture(store: try makeStore(AuthorityStoreFixture.history), rule: rule))
    }

    /// Runs all rules and returns the violations.
    public func run() -> [Violation] {
        Self.ruleNames.compactMap { rule in
            do {
                try run(rule)
                return nil
            } catch let violation as Violation {
                return violation
            } catch {
                return Violation(rule: rule, detail: "the store threw: \(error)")
            }
        }
    }

    /// A violation of a rule by a store.
    public struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
        /// The name of the broken rule, from `ruleNames`.
        public let rule: String
        /// The value that was found, and the one that was expected.
        public let detail: String

        public var description: String { "\(rule): \(detail)" }
    }

    struct Check {
        let rule: String
        let body: (AuthorityStoreFixture) throws -> Void

        init(_ rule: String, _ body: @escaping (AuthorityStoreFixture) throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    private static var checks: [Check] { transactionChecks + recordChecks + feedChecks + ledgerChecks + overviewChecks }
}

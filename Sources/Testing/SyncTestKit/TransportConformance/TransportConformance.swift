public import SyncCore
public import SyncModel

/// The rules that every server must satisfy over any transport, as plain checks that a test or a program can run.
///
/// The server may hold other records and serve other clients at the same time. Each rule makes its own records and
/// clients, and leaves them behind. No rule waits on a clock. The rules about hints wait for the stream, so a transport
/// that never sends a hint blocks them: run them with a time limit.
///
/// ```swift
/// let suite = TransportConformance(subject)
/// for rule in suite.rules { try await suite.run(rule) }
/// ```
public struct TransportConformance: Sendable {
    let subject: Subject

    /// Creates the suite for one server. The subject decides which rules can be checked.
    public init(_ subject: Subject) {
        self.subject = subject
    }

    /// The names of the rules that can be checked with the functions that the subject provides, the simple ones first.
    public var rules: [String] {
        checks.map(\.rule)
    }

    /// Checks one rule.
    ///
    /// - Throws: `ConformanceViolation` when the rule is broken, or the `TransportError` that prevented the check.
    public func run(_ rule: String) async throws {
        guard let check = checks.first(where: { $0.rule == rule }) else {
            throw ConformanceViolation(
                rule: rule, detail: "there is no such rule, or the subject does not offer enough")
        }
        let hello = try await subject.transport.hello()
        try await check.body(TransportFixture(subject: subject, rule: rule, hello: hello))
    }

    /// Checks all rules and returns the violations.
    public func run() async -> [ConformanceViolation] {
        var violations: [ConformanceViolation] = []
        for rule in rules {
            do {
                try await run(rule)
            } catch let violation as ConformanceViolation {
                violations.append(violation)
            } catch {
                violations.append(ConformanceViolation(rule: rule, detail: "the transport threw: \(error)"))
            }
        }
        return violations
    }

    struct Check: Sendable {
        let rule: String
        let body: @Sendable (TransportFixture) async throws -> Void

        init(_ rule: String, _ body: @escaping @Sendable (TransportFixture) async throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    private var checks: [Check] {
        var checks = helloChecks + pushChecks + pullChecks + snapshotChecks + fetchChecks + hintChecks + accountChecks
        if subject.exchange != nil { checks += malformedChecks }
        if subject.stranger != nil { checks += tokenChecks }
        return checks
    }
}

extension TransportConformance {
    /// The server under test, with the parts of its model that the rules use.
    public struct Subject: Sendable {
        /// A transport for a principal that may read and write `space`.
        public var transport: any RemoteTransport
        /// The space in which the rules create their records.
        public var space: SpaceID
        /// A collection with an optional text field. The rules create, change, and delete records in it.
        public var collection: CollectionName
        /// The optional text field of `collection` that the rules change.
        public var textField: FieldName
        /// Returns the values of a new record. Different numbers give different values to fields that must be unique.
        public var values: @Sendable (Int) -> Patch
        /// Random numbers for the identifiers of clients and records.
        public var random: @Sendable () -> UInt64
        /// Sends these bytes as the body of a `push`, `pull`, or `fetch`, and returns the failure, or nil when the call
        /// succeeded. Without this function, the rules about malformed requests are skipped.
        public var exchange: (@Sendable (ServerCall, [UInt8]) async -> TransportError?)?
        /// The longest body that the server accepts, in bytes; nil skips the rule about longer ones.
        public var maximumBodyBytes: Int?
        /// A transport with an invalid token; nil skips the rule about such tokens.
        public var stranger: (any RemoteTransport)?

        /// Creates a subject. Without `exchange`, the rules about malformed requests are skipped; without `stranger`,
        /// the rule about invalid tokens.
        public init(
            transport: any RemoteTransport, space: SpaceID, collection: CollectionName, textField: FieldName,
            values: @escaping @Sendable (Int) -> Patch, random: @escaping @Sendable () -> UInt64,
            exchange: (@Sendable (ServerCall, [UInt8]) async -> TransportError?)? = nil, maximumBodyBytes: Int? = nil,
            stranger: (any RemoteTransport)? = nil
        ) {
            self.transport = transport
            self.space = space
            self.collection = collection
            self.textField = textField
            self.values = values
            self.random = random
            self.exchange = exchange
            self.maximumBodyBytes = maximumBodyBytes
            self.stranger = stranger
        }
    }
}

public import SyncCore
public import SyncModel

/// The rules for any server, over whatever transport: plain checks that a test, or a program, can run.
///
/// The server may hold other records and serve other clients meanwhile. Each rule makes records and clients of its own,
/// and leaves them there. None waits by a clock; those about hints wait for the stream, so that a transport which
/// tells nothing keeps them waiting: give them a time limit.
///
/// ```swift
/// let suite = TransportConformance(subject)
/// for rule in suite.rules { try await suite.run(rule) }
/// ```
public struct TransportConformance: Sendable {
    let subject: Subject

    public init(_ subject: Subject) {
        self.subject = subject
    }

    /// The names of the rules that can be checked with what the subject offers, the simple ones first.
    public var rules: [String] {
        checks.map(\.rule)
    }

    /// Checks one rule.
    ///
    /// - Throws: `ConformanceViolation` when it is broken, or the `TransportFailure` that stood in the way.
    public func run(_ rule: String) async throws {
        guard let check = checks.first(where: { $0.rule == rule }) else {
            throw ConformanceViolation(
                rule: rule, detail: "there is no such rule, or the subject does not offer enough")
        }
        let hello = try await subject.transport.hello()
        try await check.body(TransportWorld(subject: subject, rule: rule, hello: hello))
    }

    /// Checks all rules, and gives back what was broken.
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
        let body: @Sendable (TransportWorld) async throws -> Void

        init(_ rule: String, _ body: @escaping @Sendable (TransportWorld) async throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    private var checks: [Check] {
        var checks = helloChecks + pushChecks + pullChecks + snapshotChecks + fetchChecks + hintChecks
        if subject.exchange != nil { checks += malformedChecks }
        if subject.stranger != nil { checks += accessChecks }
        return checks
    }
}

extension TransportConformance {
    /// The server under test, with as much of its model as the rules need.
    public struct Subject: Sendable {
        /// As a principal that may read and write `space`.
        public var transport: any RemoteTransport
        public var space: SpaceID
        /// A collection with a text field that is not required, which the rules create, change and delete records of.
        public var collection: CollectionName
        public var textField: FieldName
        /// The values of a new record; the number tells apart what must differ.
        public var values: @Sendable (Int) -> Patch
        /// For identifiers.
        public var random: @Sendable () -> UInt64
        /// Sends a body as it stands to `push`, `pull` or `fetch`, and tells how that failed; nil when it did not.
        public var exchange: (@Sendable (MockCall, [UInt8]) async -> TransportFailure?)?
        /// The longest body that the server takes, when it has such a limit.
        public var maximumBodyBytes: Int?
        /// As somebody with a token that is not good.
        public var stranger: (any RemoteTransport)?

        public init(
            transport: any RemoteTransport, space: SpaceID, collection: CollectionName, textField: FieldName,
            values: @escaping @Sendable (Int) -> Patch, random: @escaping @Sendable () -> UInt64,
            exchange: (@Sendable (MockCall, [UInt8]) async -> TransportFailure?)? = nil, maximumBodyBytes: Int? = nil,
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

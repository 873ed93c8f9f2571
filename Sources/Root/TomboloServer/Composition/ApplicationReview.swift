import Logging
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncServerHTTP

/// Asks the application's rules, each for a bounded time.
struct ApplicationReview: TransactionReview {
    let application: ServerApplication
    let runtime: EngineRuntime
    let logger: Logger

    /// Nil for an application without rules of its own.
    init?(_ application: ServerApplication, _ runtime: EngineRuntime, _ logger: Logger) {
        guard !application.writeRules.isEmpty || !application.validations.isEmpty else { return nil }
        self.application = application
        self.runtime = runtime
        self.logger = logger
    }

    func rejection(
        of transaction: Transaction, by principal: Principal, records: RecordReader
    ) async throws -> Rejection? {
        // The authority refuses what breaks the model; the rules see valid transactions only.
        guard application.catalog.rejection(of: transaction) == nil else { return nil }
        return try await RuleCall.run("a rule for writes", application.timeout, runtime, logger) {
            try await verdict(on: transaction, by: principal, records)
        }
    }

    private func verdict(
        on transaction: Transaction, by principal: Principal, _ records: RecordReader
    ) async throws -> Rejection? {
        for (index, mutation) in transaction.mutations.enumerated() {
            guard let rules = application.writeRules[mutation.collection],
                let schema = application.catalog[mutation.collection]
            else { continue }
            let record = try await records.record(mutation.collection, mutation.record, in: transaction.space)
            let write = ProposedWrite(
                principal: principal, space: transaction.space, mutation: mutation,
                record: record.map { ServerRecord($0, schema) })
            for rule in rules where try await !rule(write) {
                return Rejection(
                    code: .forbidden,
                    message: "\(principal.name) may not \(mutation.verb) this record of \(mutation.collection)",
                    mutation: index)
            }
        }
        do {
            for validation in application.validations { try await validation(transaction, principal) }
            return nil
        } catch let rejection as ServerRejection {
            return Rejection(rejection, of: transaction)
        }
    }
}

extension Rejection {
    /// The fields stand in front of the message.
    fileprivate init(_ rejection: ServerRejection, of transaction: Transaction) {
        let mutation = rejection.mutation.flatMap { transaction.mutations.indices.contains($0) ? $0 : nil }
        let fields = rejection.fields.map(\.rawValue).joined(separator: ", ")
        self.init(
            code: RejectionCode(rawValue: String(rejection.code.unicodeScalars.prefix(64))),
            // A scalar has four bytes at most, so that the message is one that clients take.
            message: String(
                (fields.isEmpty ? rejection.message : "\(fields): \(rejection.message)").unicodeScalars.prefix(1_000)),
            mutation: mutation)
    }
}

extension Mutation {
    fileprivate var verb: String {
        switch intent {
        case .create: "create"
        case .update: "change"
        case .delete: "delete"
        }
    }
}

/// One call of the application's code, whose answer is awaited for a bounded time.
enum RuleCall {
    /// Returns the answer of `body`.
    ///
    /// A body that takes too long is cancelled, and is left behind if it goes on.
    ///
    /// - Throws: `AuthorityError.unavailable` when the body throws or takes too long.
    static func run<Value: Sendable>(
        _ name: String, _ timeout: Duration, _ runtime: EngineRuntime, _ logger: Logger,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (answers, answer) = AsyncStream.makeStream(
            of: Result<Value, any Error>.self, bufferingPolicy: .bufferingOldest(1))
        let call = runtime.spawn {
            do { answer.yield(.success(try await body())) } catch { answer.yield(.failure(error)) }
        }
        let limit = runtime.spawn { [clock = runtime.clock] in
            do { try await clock.sleep(for: timeout) } catch { return }
            answer.yield(.failure(TimedOut(timeout: timeout)))
        }
        defer {
            call.cancel()
            limit.cancel()
        }
        for await result in answers {
            switch result {
            case .success(let value): return value
            case .failure(let error):
                // The words of the application may hold what a client sent.
                logger.error(
                    "The application's rules did not respond.",
                    metadata: ["asked": "\(name)", "error": "\(error is TimedOut ? "\(error)" : "\(type(of: error))")"])
                throw AuthorityError(
                    .unavailable, "the application's rules are not available", retryAfter: .seconds(5))
            }
        }
        throw CancellationError()
    }

    private struct TimedOut: Error, CustomStringConvertible {
        let timeout: Duration
        var description: String { "no response within \(timeout)" }
    }
}

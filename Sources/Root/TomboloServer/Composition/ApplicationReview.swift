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

    /// Nil for an application without rules.
    init?(_ application: ServerApplication, _ runtime: EngineRuntime, _ logger: Logger) {
        guard application.hasRules else { return nil }
        self.application = application
        self.runtime = runtime
        self.logger = logger
    }

    func rejections(
        of transactions: [NumberedTransaction], by principal: Principal, records: RecordReader
    ) async throws -> [TransactionNumber: Rejection] {
        var rejections: [TransactionNumber: Rejection] = [:]
        var proposed = ProposedRecords()
        for numbered in transactions {
            let transaction = numbered.transaction
            // The authority refuses what breaks the model; the rules see valid transactions only.
            guard application.catalog.rejection(of: transaction) == nil else { continue }
            let before = proposed
            let (rejection, after) = try await RuleCall.run("a rule for writes", application.timeout, runtime, logger) {
                try await verdict(on: transaction, by: principal, records, before)
            }
            // A rejected transaction has no effect on the following ones.
            if let rejection { rejections[numbered.number] = rejection } else { proposed = after }
        }
        return rejections
    }

    private func verdict(
        on transaction: Transaction, by principal: Principal, _ records: RecordReader, _ proposed: ProposedRecords
    ) async throws -> (Rejection?, ProposedRecords) {
        var proposed = proposed
        for (index, mutation) in transaction.mutations.enumerated() {
            guard application.judges(mutation.collection), let schema = application.catalog[mutation.collection] else {
                continue
            }
            let record = try await records.record(mutation.collection, mutation.record, in: transaction.space)
                .map { ServerRecord($0, schema) }
            let write = ProposedWrite(
                principal: principal, space: transaction.space, mutation: mutation, record: record,
                proposed: proposed.apply(mutation, over: record))
            for rule in application.writeRules[mutation.collection] ?? [] where try await !rule(write) {
                let rejection = Rejection(
                    code: .forbidden,
                    message: "\(principal.name) may not \(mutation.verb) this record of \(mutation.collection)",
                    mutation: index)
                return (rejection, proposed)
            }
            do {
                for check in application.writeChecks[mutation.collection] ?? [] { try await check(write) }
            } catch let rejection as ServerRejection {
                return (Rejection(rejection, of: transaction, at: index), proposed)
            }
        }
        do {
            for validation in application.validations { try await validation(transaction, principal) }
            return (nil, proposed)
        } catch let rejection as ServerRejection {
            return (Rejection(rejection, of: transaction), proposed)
        }
    }
}

/// The records that a push would write, as its earlier mutations leave them.
struct ProposedRecords: Sendable {
    /// A record that is nil is deleted.
    private var records: [RecordAddress: ServerRecord?] = [:]

    /// Applies a mutation.
    ///
    /// - Parameter stored: the record before the push; nil if there is none that the principal may see.
    /// - Returns: the record after the mutation; nil after a delete, or when there is no record to change.
    mutating func apply(_ mutation: Mutation, over stored: ServerRecord?) -> ServerRecord? {
        let address = RecordAddress(mutation.collection, mutation.record)
        let before = records[address] ?? stored
        let after: ServerRecord? =
            switch mutation.intent {
            case .create(let patch): before?.changed(by: patch) ?? ServerRecord(creating: mutation.record, patch)
            case .update: before?.changed(by: mutation.patch)
            case .delete: nil
            }
        records[address] = .some(after)
        return after
    }
}

extension Rejection {
    /// - Parameter index: the mutation at fault, unless the application names another.
    fileprivate init(_ rejection: ServerRejection, of transaction: Transaction, at index: Int? = nil) {
        let named = rejection.mutation.flatMap { transaction.mutations.indices.contains($0) ? $0 : nil }
        // Fields belong to a record. A transaction of one mutation leaves no doubt which.
        let only = transaction.mutations.count == 1 && !rejection.fields.isEmpty ? 0 : nil
        let mutation = named ?? index ?? only
        self.init(
            code: RejectionCode(rawValue: String(rejection.code.unicodeScalars.prefix(64))),
            // A scalar has four bytes at most, so that the message is one that clients take.
            message: String(rejection.message.unicodeScalars.prefix(1_000)),
            mutation: mutation, fields: Array(rejection.fields.prefix(SchemaLimits.fields)))
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

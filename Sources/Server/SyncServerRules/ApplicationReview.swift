package import Logging
package import SyncAuthority
package import SyncCore
package import SyncModel

/// Applies the application's rules to the transactions of a push, in a bounded time for each transaction.
package struct ApplicationReview: TransactionReview {
    let application: ServerApplication
    let runtime: EngineRuntime
    let logger: Logger

    /// Returns nil for an application without rules.
    package init?(_ application: ServerApplication, _ runtime: EngineRuntime, _ logger: Logger) {
        guard application.hasRules else { return nil }
        self.application = application
        self.runtime = runtime
        self.logger = logger
    }

    package func rejections(
        of transactions: [NumberedTransaction], by principal: Principal, records: RecordReader
    ) async throws -> [TransactionNumber: Rejection] {
        var rejections: [TransactionNumber: Rejection] = [:]
        for numbered in transactions {
            let transaction = numbered.transaction
            // The authority rejects transactions that break the models, so the rules see only valid ones.
            guard application.catalog.rejection(of: transaction) == nil else { continue }
            let rejection = try await RuleCall.run("a rule for writes", application.timeout, runtime, logger) {
                try await verdict(on: transaction, by: principal, records)
            }
            if let rejection { rejections[numbered.number] = withoutUnknownFields(rejection, of: transaction) }
        }
        return rejections
    }

    /// Leaves out fields that the model does not have: no form could mark them, and the rule has a mistake.
    private func withoutUnknownFields(_ rejection: Rejection, of transaction: Transaction) -> Rejection {
        guard let mutation = rejection.mutation,
            let model = application.catalog[transaction.mutations[mutation].collection]
        else { return rejection }
        let unknown = rejection.fields.filter { model.position(of: $0) == nil }
        guard !unknown.isEmpty else { return rejection }
        logger.error(
            "A rule for writes has named fields that the model does not have.",
            metadata: [
                "collection": "\(model.collection)", "fields": "\(unknown.map(\.rawValue).joined(separator: ", "))",
            ])
        return Rejection(
            code: rejection.code, message: rejection.message, mutation: mutation,
            fields: rejection.fields.filter { !unknown.contains($0) })
    }

    private func verdict(
        on transaction: Transaction, by principal: Principal, _ records: RecordReader
    ) async throws -> Rejection? {
        var proposed = ProposedRecords()
        for (index, mutation) in transaction.mutations.enumerated() {
            guard application.hasRules(for: mutation.collection), let schema = application.catalog[mutation.collection]
            else {
                continue
            }
            let record = try await records.record(mutation.collection, mutation.record, in: transaction.space)
                .map { ServerRecord($0, schema) }
            let write = ProposedWrite(
                principal: principal, space: transaction.space, mutation: mutation, record: record,
                proposed: proposed.apply(mutation, over: record))
            for rule in application.writeRules[mutation.collection] ?? [] where try await !rule(write) {
                return Rejection(
                    code: .forbidden,
                    message: "\(principal.name) may not \(mutation.verb) this record of \(mutation.collection)",
                    mutation: index)
            }
            do {
                for check in application.writeChecks[mutation.collection] ?? [] { try await check(write) }
            } catch let rejection as ServerRejection {
                return Rejection(rejection, of: transaction, at: index)
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

/// The records that a transaction writes, after the mutations that have been reviewed so far.
struct ProposedRecords: Sendable {
    /// The value is nil for a deleted record.
    private var records: [RecordAddress: ServerRecord?] = [:]

    /// Applies a mutation.
    ///
    /// - Parameter stored: the record before the transaction; nil if there is none that the principal may see.
    /// - Returns: the record after the mutation; nil after a delete, or when there is no record to change.
    mutating func apply(_ mutation: Mutation, over stored: ServerRecord?) -> ServerRecord? {
        let address = RecordAddress(mutation.collection, mutation.record)
        let before = records[address] ?? stored
        let after: ServerRecord? =
            switch mutation.intent {
            case .create(let patch):
                before?.changed(by: patch.withoutNulls) ?? ServerRecord(creating: mutation.record, patch)
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
        // Fields belong to the record of a mutation. If the transaction has only one mutation, the fields belong to its
        // record.
        let only = transaction.mutations.count == 1 && !rejection.fields.isEmpty ? 0 : nil
        let mutation = named ?? index ?? only
        self.init(
            code: RejectionCode(ofRule: rejection.code),
            // A scalar has at most four bytes, so the message is short enough for clients (`WireLimits.messageBytes`).
            message: String(rejection.message.unicodeScalars.prefix(1_000)),
            mutation: mutation, fields: Array(rejection.fields.prefix(SchemaLimits.fields)))
    }
}

extension RejectionCode {
    /// Creates the code of an application's rejection. A code to which devices give a meaning of their own gets a prefix.
    fileprivate init(ofRule code: String) {
        let own: [RejectionCode] = [
            .unknownCollection, .unknownField, .dependsOnRejected, .lost, .recordDeleted, .duplicateRecord,
        ]
        let isReserved = own.contains { $0.rawValue == code }
        self.init(rawValue: String(((isReserved ? "rule_" : "") + code).unicodeScalars.prefix(64)))
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

/// Calls the application's code, and waits for its result for a bounded time.
package enum RuleCall {
    /// Returns the result of `body`.
    ///
    /// A body that takes too long is cancelled. If it ignores the cancellation, its result is discarded.
    ///
    /// - Throws: an `AuthorityError` with the code `unavailable` when the body throws or takes too long, and
    ///   `CancellationError` when the caller is cancelled.
    package static func run<Value: Sendable>(
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
                // The application's message may contain data that a client sent, so only its type is logged.
                logger.error(
                    "The application's rules failed or did not respond.",
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

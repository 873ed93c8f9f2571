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

    package func rejection(of planned: PlannedTransaction, by principal: Principal) async throws -> Rejection? {
        // A decision stays, whatever the rules say now.
        guard !planned.effects.allSatisfy(\.isRepeat) else { return nil }
        let rejection = try await RuleCall.run("a rule for writes", application.timeout, runtime, logger) {
            try await verdict(on: ProposedTransaction(planned, by: principal, application.catalog))
        }
        return rejection.map { withoutUnknownFields($0, of: planned.transaction) }
    }

    package func uptime() -> Duration { runtime.uptime() }

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

    private func verdict(on proposed: ProposedTransaction) async throws -> Rejection? {
        for write in proposed.writes {
            let collection = write.mutation.collection
            for rule in application.writeRules[collection] ?? [] where try await !rule(write) {
                return Rejection(
                    code: .forbidden,
                    message: "\(proposed.principal.name) may not \(write.mutation.verb) this record of \(collection)",
                    mutation: write.position)
            }
            do {
                for check in application.writeChecks[collection] ?? [] { try await check(write) }
            } catch let rejection as ServerRejection {
                return Rejection(rejection, of: proposed.transaction, at: write.position)
            }
        }
        do {
            for validation in application.validations { try await validation(proposed) }
            return nil
        } catch let rejection as ServerRejection {
            return Rejection(rejection, of: proposed.transaction)
        }
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
    /// Creates the code of an application's rejection. A code to which devices give a meaning of their own gets a
    /// prefix.
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

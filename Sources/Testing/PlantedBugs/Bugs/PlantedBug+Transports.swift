import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    private static func transport(
        _ name: String, breaks: [Invariant], _ sentence: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in },
        plant: @escaping @Sendable (inout PlantedTransport) -> Void
    ) -> PlantedBug {
        PlantedBug(name, breaks: breaks, sentence, parts: { .wrappingTransports(plant) }, shape: shape)
    }

    /// Calls the server up to 40 times without a pause, until a call succeeds.
    private static func repeating<Response>(
        _ call: () async throws(TransportError) -> Response
    ) async throws(TransportError) -> Response {
        var last = TransportError(.cancelled, "")
        for _ in 0..<40 {
            do throws(TransportError) { return try await call() } catch { last = error }
        }
        throw last
    }

    /// Calls the server, and removes the requested pause from an error.
    private static func ignoringPause<Response>(
        _ call: () async throws(TransportError) -> Response
    ) async throws(TransportError) -> Response {
        do throws(TransportError) {
            return try await call()
        } catch {
            throw TransportError(error.code, error.message)
        }
    }

    /// Bugs between a device's engine and the network.
    static let transports: [PlantedBug] = [
        transport(
            "pushes repeated at once", breaks: [.I18], "a push that failed is repeated at once",
            shape: { $0.setting.network.refuseRate = 0.5 },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    try await repeating { () async throws(TransportError) in try await base.push(request) }
                }
            }),
        transport(
            "pulls repeated at once", breaks: [.I18], "a pull that failed is repeated at once",
            shape: { $0.setting.network.refuseRate = 0.5 },
            plant: {
                $0.onPull = { (base, request, _) async throws(TransportError) in
                    try await repeating { () async throws(TransportError) in try await base.pull(request) }
                }
            }),
        transport(
            "retry-after ignored by pushes", breaks: [.I18], "a push ignores the pause that a server requests",
            shape: { $0.setting.network.busyRate = 0.5 },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    try await ignoringPause { () async throws(TransportError) in try await base.push(request) }
                }
            }),
        transport(
            "retry-after ignored by pulls", breaks: [.I18], "a pull ignores the pause that a server requests",
            shape: { $0.setting.network.busyRate = 0.5 },
            plant: {
                $0.onPull = { (base, request, _) async throws(TransportError) in
                    try await ignoringPause { () async throws(TransportError) in try await base.pull(request) }
                }
            }),
        transport(
            "retry-after ignored by hellos", breaks: [.I18], "a hello ignores the pause that a server requests",
            shape: { $0.setting.network.busyRate = 0.5 },
            plant: {
                $0.onHello = { (base) async throws(TransportError) in
                    try await ignoringPause { () async throws(TransportError) in try await base.hello() }
                }
            }),
        transport(
            "server errors are permanent", breaks: [.I17, .I18],
            "a push that a busy or failing server refused counts as too large",
            shape: { $0.setting.network.busyRate = 0.3 },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    do throws(TransportError) {
                        return try await base.push(request)
                    } catch  where error.code == .throttled || error.code == .serverFailed {
                        throw TransportError(.tooLarge, error.message)
                    }
                }
            }),
        transport(
            "refusal taken for the whole batch", breaks: [.I17, .I16],
            "when the server refuses a push for one transaction, all of its transactions are rejected",
            shape: { $0.rates.lie = 0.1 },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    do throws(TransportError) {
                        return try await base.push(request)
                    } catch  where error.isDefinite && (error.code == .forbidden || error.code == .refused) {
                        let rejection = Rejection(code: .forbidden, message: "planted", mutation: nil)
                        return .answered(
                            request.transactions.map {
                                TransactionResult(number: $0.number, outcome: .rejected(rejection))
                            }, epoch: request.epoch ?? Epoch(rawValue: "first"), serverTime: .zero)
                    }
                }
            }),
        transport(
            "pages without progress followed", breaks: [.I18],
            "a page that does not advance the cursor is requested again up to 400 times",
            shape: {
                $0.rates.lie = 0.2
                $0.setting.network = .calm
            },
            plant: {
                $0.onPull = { (base, request, _) async throws(TransportError) in
                    for _ in 0..<400 {
                        let response = try await base.pull(request)
                        guard case .page(let page) = response, page.hasMore, page.cursor == request.cursor else {
                            return response
                        }
                    }
                    return try await base.pull(request)
                }
            }),
        transport("lost responses invented", breaks: [.I1, .I16], "a push that failed counts as applied") {
            $0.onPush = { (base, request, _) async throws(TransportError) in
                do throws(TransportError) {
                    return try await base.push(request)
                } catch {
                    let results = request.transactions.map {
                        TransactionResult(
                            number: $0.number, outcome: .applied(version: Version(1), uids: [], conflicts: []))
                    }
                    return .answered(
                        results, epoch: request.epoch ?? Epoch(rawValue: "first"), serverTime: .zero)
                }
            }
        },
        transport("lost responses rejected", breaks: [.I17], "a push that failed counts as rejected") {
            $0.onPush = { (base, request, _) async throws(TransportError) in
                do throws(TransportError) {
                    return try await base.push(request)
                } catch {
                    let rejection = Rejection(code: .forbidden, message: "planted", mutation: nil)
                    return .answered(
                        request.transactions.map {
                            TransactionResult(number: $0.number, outcome: .rejected(rejection))
                        }, epoch: request.epoch ?? Epoch(rawValue: "first"), serverTime: .zero)
                }
            }
        },
        transport(
            "pages from a cache", breaks: [.I18, .I4, .I5, .I9], "a cursor always gets its first response again"
        ) {
            let cache = Guarded([Cursor?: PullResponse]())
            $0.onPull = { (base, request, _) async throws(TransportError) in
                if let known = cache.withLock({ $0[request.cursor] }) { return known }
                let response = try await base.pull(request)
                cache.withLock { $0[request.cursor] = response }
                return response
            }
        },
        transport("acknowledged too early", breaks: [.I2, .I16, .I18], "a push acknowledges its own outcomes") {
            $0.onPush = { (base, request, _) async throws(TransportError) in
                try await base.push(request.with(acknowledged: request.transactions.last?.number.next))
            }
        },
        transport("one identity for all", breaks: [.I16, .I2, .I1], "all devices push with one client id") {
            $0.onPush = { (base, request, _) async throws(TransportError) in
                let identity = ClientIdentity(
                    client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: request.identity.incarnation)
                return try await base.push(request.with(identity: identity))
            }
        },
        transport(
            "epoch omitted from pushes", breaks: [.I15, .I18, .I16], "a push does not name its epoch",
            shape: { $0.rates.restoreServer = 0.15 },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    try await base.push(request.with(epoch: .some(nil)))
                }
            }),
        transport(
            "account omitted from pulls", breaks: [.I21], "a pull does not name the account of the database",
            shape: { $0.rates.changeUser = 0.1 },
            plant: {
                $0.onPull = { (base, request, _) async throws(TransportError) in
                    try await base.pull(request.with(account: .some(nil)))
                }
            }),
        transport(
            "lost contact taken for throttling", breaks: [.I18], "after lost contact, a push waits an hour",
            shape: { plan in
                plan.rates.lie = 0
                plan.rates.refuseIdentities = 0
            },
            plant: {
                $0.onPush = { (base, request, _) async throws(TransportError) in
                    do throws(TransportError) {
                        return try await base.push(request)
                    } catch  where error.code == .unreachable {
                        throw TransportError(.throttled, error.message, retryAfter: .seconds(3_600))
                    }
                }
            }),
    ]
}

import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation
import SyncWire

/// The server's side of an in-process transport, which exchanges bytes like the routes of an HTTP server.
struct AuthorityEndpoint: Sendable {
    let authority: any AuthorityService
    let catalog: SchemaCatalog
    let principal: Principal
    let now: @Sendable () -> WallTime
    /// The application's rules for pushes; nil for none.
    var review: (any TransactionReview)?

    /// Performs a call, and throws the failure that a remote client would get. Returns nil for "not found".
    func exchange(_ call: ServerCall, _ body: [UInt8]) async throws(TransportError) -> [UInt8]? {
        do {
            let request = try ServerRequest.decode(body, of: call)
            return try await response(to: request).encode(to: request, catalog: catalog)
        } catch is CancellationError {
            throw TransportError(.cancelled, "\(call.rawValue): the caller gave up")
        } catch let failure as AuthorityError {
            throw TransportError(failure)
        } catch let error as WireError {
            // The failure of a request that was damaged on its way decides nothing about the request's contents.
            let isDecision = error.code == .malformed
            throw TransportError(isDecision ? .refused : .serverFailed, error.message, isDefinite: isDecision)
        } catch {
            throw TransportError(.serverFailed, "\(call.rawValue) failed")
        }
    }

    /// Returns the authority's response. The application's rules judge a push first, as on a real server.
    private func response(to request: ServerRequest) async throws -> ServerResponse {
        guard case .push(let request) = request, let review else {
            return try authority.respond(to: request, by: principal, now: now())
        }
        let push = ReviewedPush(
            principal: principal, received: now(), uptime: { review.uptime() },
            plan: { part in try authority.plan(part, now: now()) },
            judge: { planned in try await review.rejection(of: planned, by: principal)?.shortened },
            commit: { part in try authority.push(part, now: now()) })
        return .push(try await push.response(to: request))
    }
}

extension ServerRequest {
    /// Sends the request as bytes, and decodes the bytes of the response.
    ///
    /// - Parameters:
    ///   - catalog: the client's models.
    ///   - exchange: carries the body of the request to a server, and returns the body of the response; nil for "not
    ///     found".
    func exchanged(
        _ catalog: SchemaCatalog,
        by exchange: (ServerCall, [UInt8]) async throws(TransportError) -> [UInt8]?
    ) async throws(TransportError) -> ServerResponse {
        let body: [UInt8]
        do throws(WireError) {
            body = try encode()
        } catch {
            throw TransportError(.refused, error.message, isDefinite: true)
        }
        let response = try await exchange(call, body)
        do throws(WireError) {
            return try ServerResponse.decode(response, to: self, catalog: catalog)
        } catch {
            throw TransportError(.notUnderstood, error.message)
        }
    }
}

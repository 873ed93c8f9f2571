import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
public import SyncCore
public import SyncModel
import SyncWire

/// A transport over HTTP/1.1.
///
/// It follows no redirects, limits how much it reads, and accepts only valid responses: a captive portal's page is
/// `notUnderstood`. It never sends its token to another machine over plain HTTP unless the configuration allows that.
///
/// Call `shutdown()` to wait until all connections are closed. Releasing the last reference closes them in the
/// background.
public final class HTTPTransport: RemoteTransport {
    let configuration: HTTPTransportConfiguration
    private let catalog: SchemaCatalog
    private let token: @Sendable () async throws -> String?
    let runtime: EngineRuntime
    private let client: ReplaceableClient
    /// The client for event streams. A stream occupies its connection, so the calls have separate ones.
    let streamClient: ReplaceableClient

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - token: Returns the bearer token, before each request; nil for none.
    ///   - runtime: Its wall clock is used for `Retry-After`, its random numbers for request ids, and its tasks for
    ///     event streams and for closing connections.
    /// - Throws: `HTTPTransportConfigurationError` when the URL or the certificate file is unusable.
    public init(
        configuration: HTTPTransportConfiguration, catalog: SchemaCatalog, runtime: EngineRuntime,
        token: @escaping @Sendable () async throws -> String?
    ) throws {
        var configuration = configuration
        configuration.baseURL = try Self.checkedURL(configuration.baseURL)
        self.configuration = configuration
        self.catalog = catalog
        self.runtime = runtime
        self.token = token
        let settings = try Self.settings(configuration)
        var streamSettings = settings
        streamSettings.timeout.read = TimeAmount(configuration.hintsTimeout)
        client = ReplaceableClient(settings, runtime)
        streamClient = ReplaceableClient(streamSettings, runtime)
    }

    public var serverAddress: String? { configuration.baseURL }

    /// Ends requests in flight and closes all connections.
    public func shutdown() async throws {
        // The other client must be shut down even if one fails to, because a client traps when it is released before.
        do {
            try await streamClient.shutdown()
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }

    public func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        let body: [UInt8]
        do throws(WireError) {
            body = try request.encode()
        } catch {
            throw TransportError(.refused, error.message, isDefinite: true)
        }
        let response = try await exchange(request.call, body)
        do throws(WireError) {
            return try ServerResponse.decode(response, to: request, catalog: catalog)
        } catch {
            throw TransportError(
                .notUnderstood,
                request == .hello
                    ? "the response is not from a sync server, or from one of another version: \(error.message)"
                    : error.message)
        }
    }

    /// Makes a call with an encoded body, and returns the body of the response; nil when the server itself says that
    /// the requested item does not exist.
    package func exchange(_ call: ServerCall, _ body: [UInt8]) async throws(TransportError) -> [UInt8]? {
        let secret = try await bearer()
        let id = makeRequestID()
        var request = request(call.path, secret, accept: "application/json", id: id)
        if call.method == .post {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .stream(
                BodyPieces(body: ByteBuffer(bytes: body)), length: .known(Int64(body.count)))
        }
        let allowed = configuration.callTimeout + SyncPolicy.uploadTime(ofBytes: body.count)
        let deadline = NIODeadline.now() + TimeAmount(allowed)
        do {
            let response = try await client.withClient { client in
                try await BoundedResponse(
                    client.execute(request, deadline: deadline), deadline: deadline,
                    maximumBytes: configuration.maximumResponseBytes, now: runtime.now(), to: id)
            }
            if response.status == 404, response.error?.code == .notFound {
                guard call.mayBeNotFound else {
                    // Not definite: a transaction must not leave the outbox because of it.
                    throw TransportError(.refused, "the server responded that the record does not exist")
                }
                return nil
            }
            return try response.goodBody()
        } catch {
            throw TransportError(error, calling: call.rawValue, configuration).hiding(secret)
        }
    }

    func request(_ path: String, _ secret: String?, accept: String, id: WireRequestID) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: configuration.baseURL + path)
        request.headers.add(name: "Accept", value: accept)
        request.headers.add(name: "User-Agent", value: "tombolo/\(ProtocolVersion.current)")
        request.headers.add(name: WireRequestID.header, value: id.rawValue)
        if let secret { request.headers.add(name: "Authorization", value: "Bearer \(secret)") }
        return request
    }

    func makeRequestID() -> WireRequestID {
        WireRequestID(high: runtime.random(), low: runtime.random())
    }

    /// Returns the token, or nil when there is none. Checks that the token may be sent over this connection, and that
    /// it is valid in a header.
    func bearer() async throws(TransportError) -> String? {
        let secret: String?
        do {
            secret = try await token()
        } catch is CancellationError {
            throw TransportError(.cancelled, "the caller cancelled the request")
        } catch {
            throw TransportError(.unauthorized, "the token source failed")
        }
        guard let secret else { return nil }
        guard configuration.sendsTokenInPlainText || !Self.isPlainTextToElsewhere(configuration.baseURL) else {
            throw TransportError(
                .unauthorized,
                "the token is not sent to another machine without encryption: use https, or set sendsTokenInPlainText")
        }
        guard !secret.isEmpty, secret.utf8.count <= HTTPTransportLimits.tokenBytes,
            secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw TransportError(
                .unauthorized, "the token is empty, too long, or has characters other than visible ASCII")
        }
        return secret
    }

    // MARK: Settings

    private static func checkedURL(_ text: String) throws -> String {
        let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
        guard let scheme, text.utf8.count > scheme.utf8.count, !text.contains(where: { "?#@ ".contains($0) }) else {
            throw HTTPTransportConfigurationError(
                description:
                    "the server's URL must be http://host:port or https://host:port, without user, query or fragment")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Returns whether anyone on the path to the server can read what is sent.
    package static func isPlainTextToElsewhere(_ url: String) -> Bool {
        guard url.lowercased().hasPrefix("http://") else { return false }
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" }
        let host: Substring
        if authority.hasPrefix("[") {
            host = authority.dropFirst().prefix { $0 != "]" }
        } else {
            host = authority.prefix { $0 != ":" }
        }
        guard host.lowercased() != "localhost", host != "::1" else { return false }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count != 4 || parts.contains(nil) || parts[0] != 127
    }

    private static func settings(_ configuration: HTTPTransportConfiguration) throws -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let path = configuration.trustedCertificates {
            tls.trustRoots = .certificates(try CertificateFile.certificates(in: path))
        }
        var settings = HTTPClient.Configuration()
        settings.tlsConfiguration = tls
        settings.redirectConfiguration = .disallow
        settings.timeout = HTTPClient.Configuration.Timeout(
            connect: TimeAmount(configuration.connectTimeout), read: TimeAmount(configuration.readTimeout),
            write: TimeAmount(configuration.readTimeout))
        // Without this, a refused connection fails only after the whole connect timeout and looks like a slow network.
        settings.connectionPool.retryConnectionEstablishment = false
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = HTTPTransportLimits.connections
        settings.httpVersion = .http1Only
        ResponseStatusGuard.install(in: &settings)
        return settings
    }
}

import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SyncCore
import SyncWire

extension TransportError {
    /// Creates a failure from an error that occurred during a call.
    init(_ error: any Error, calling route: String, _ configuration: HTTPTransportConfiguration) {
        switch error {
        case let failure as TransportError:
            self = failure.worded("\(route): \(failure.message)")
        case is CancellationError:
            self.init(.cancelled, "\(route): the caller cancelled the request")
        case let error as HTTPClientError:
            self.init(error, calling: route, configuration)
        case let error as NIOConnectionError:
            self.init(.unreachable, "cannot connect to \(configuration.baseURL): \(Self.reason(error))")
        case HTTPParserError.invalidEOFState:
            self.init(.notUnderstood, "\(route): the connection ended in the middle of the response")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(
                .unreachable,
                "cannot establish an encrypted connection to \(configuration.baseURL): \(Self.reason(ofTLS: error))")
        case let error as ChannelError:
            self.init(.unreachable, "cannot connect to \(configuration.baseURL): \(Self.reason(error))")
        case let error as IOError:
            self.init(.unreachable, "cannot connect to \(configuration.baseURL): \(Self.reason(error))")
        default:
            // The HTTP parsers throw several of their own error types. Any of them means that the response was not
            // HTTP.
            self.init(.notUnderstood, "\(route): the response is not valid HTTP (\(type(of: error)))")
        }
    }

    private init(_ error: HTTPClientError, calling route: String, _ configuration: HTTPTransportConfiguration) {
        switch error {
        case .cancelled, .requestStreamCancelled:
            self.init(.cancelled, "\(route): the caller cancelled the request")
        case .alreadyShutdown:
            self.init(.cancelled, "\(route): the transport has been shut down")
        case .readTimeout, .writeTimeout:
            let timeout = route == WirePath.hints ? configuration.hintsTimeout : configuration.readTimeout
            self.init(.timedOut, "\(route): the server was silent for \(timeout)")
        case .deadlineExceeded:
            self.init(
                .timedOut,
                "\(route): no response within \(configuration.callTimeout) and the time to send the request")
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            self.init(
                .unreachable,
                "cannot connect to \(configuration.baseURL): no response within \(configuration.connectTimeout)"
            )
        case .remoteConnectionClosed, .uncleanShutdown, .bodyLengthMismatch:
            self.init(.notUnderstood, "\(route): the connection ended in the middle of the response")
        case .invalidURL, .emptyHost, .emptyScheme:
            self.init(
                .refused,
                "\(configuration.baseURL) is not the URL of a server; expected http://host:port or https://host:port")
        default:
            self.init(.notUnderstood, "\(route): \(error.shortDescription)")
        }
    }

    /// Returns the reason for a missing connection, without addresses, error numbers, or function names.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first { return reason(first.error) }
            return "the name \(error.host) cannot be resolved"
        case let error as IOError:
            return String(cString: strerror(error.errnoCode)).lowercased()
        case ChannelError.connectTimeout:
            return "no response in time"
        default:
            return "the connection was closed"
        }
    }

    /// Returns the reason why TLS failed. The library's own text contains paths of its sources.
    private static func reason(ofTLS error: any Error) -> String {
        if let error = error as? NIOSSLExtraError,
            [.failedToValidateHostname, .serverHostnameImpossibleToMatch].contains(error)
        {
            return "the server's certificate is for another host name"
        }
        let words = String(describing: error)
        for (code, reason) in tlsReasons where words.contains(code) { return reason }
        return "the TLS handshake failed"
    }

    /// BoringSSL's codes and their meaning for a person.
    private static let tlsReasons = [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "the server's certificate has expired, or was not issued by an authority that this device trusts"
        ),
        ("WRONG_VERSION_NUMBER", "the server does not speak TLS on this port"),
        ("HTTP_REQUEST", "the server does not speak TLS on this port"),
        ("UNSUPPORTED_PROTOCOL", "the server supports no safe version of TLS; expected 1.2 or later"),
        ("PROTOCOL_VERSION", "the server supports no safe version of TLS; expected 1.2 or later"),
        ("HANDSHAKE_FAILURE", "the server and this device have no cipher in common"),
    ]

    /// Returns this failure with the secret removed from its message. A secret of fewer than 8 bytes stays.
    func hiding(_ secret: String?) -> TransportError {
        guard let secret, secret.utf8.count >= 8, message.contains(secret) else { return self }
        let words = message.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "<token>")
        return worded(words)
    }
}

import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SyncCore

extension TransportFailure {
    /// What went wrong on the way to an answer.
    init(_ error: any Error, calling route: String, _ configuration: HTTPTransportConfiguration) {
        switch error {
        case let failure as TransportFailure:
            self = failure.worded("\(route): \(failure.message)")
        case is CancellationError:
            self.init(.cancelled, "\(route): the caller gave up")
        case let error as HTTPClientError:
            self.init(error, calling: route, configuration)
        case let error as NIOConnectionError:
            self.init(.unreachable, "\(route): there is no connection to \(error.host):\(error.port)")
        case HTTPParserError.invalidEOFState:
            self.init(.notUnderstood, "\(route): the connection ended in the middle of the answer")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.unreachable, "\(route): TLS failed: \(error)")
        case let error as ChannelError:
            self.init(.unreachable, "\(route): the connection failed: \(error)")
        case let error as IOError:
            self.init(.unreachable, "\(route): the connection failed: \(error.description)")
        default:
            // The HTTP parsers throw errors of their own: whatever came was no HTTP.
            self.init(.notUnderstood, "\(route): the answer is no good HTTP (\(type(of: error)))")
        }
    }

    private init(_ error: HTTPClientError, calling route: String, _ configuration: HTTPTransportConfiguration) {
        switch error {
        case .cancelled, .requestStreamCancelled, .alreadyShutdown:
            self.init(.cancelled, "\(route): the caller gave up")
        case .readTimeout, .writeTimeout:
            self.init(.timedOut, "\(route): the server was silent for \(configuration.readTimeout)")
        case .deadlineExceeded:
            self.init(
                .timedOut,
                "\(route): no answer in time: \(configuration.callTimeout) allowed, and more for a long request")
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            self.init(.unreachable, "\(route): no connection within \(configuration.connectTimeout)")
        case .remoteConnectionClosed, .uncleanShutdown, .bodyLengthMismatch:
            self.init(.notUnderstood, "\(route): the connection ended in the middle of the answer")
        case .invalidURL, .emptyHost, .emptyScheme:
            self.init(.refused, "\(route): the server's URL is of no use")
        default:
            self.init(.notUnderstood, "\(route): \(error.shortDescription)")
        }
    }

    /// This failure without the secret, should someone have put it into the words.
    func hiding(_ secret: String?) -> TransportFailure {
        guard let secret, secret.utf8.count >= 8, message.contains(secret) else { return self }
        let words = message.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "<token>")
        return worded(words)
    }
}

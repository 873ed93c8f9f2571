import NIOHTTP1
import SyncProgram

/// A response, with the fields that keep the page and its data on this machine.
struct PageResponse: Sendable {
    let status: Int
    let type: String
    let body: [UInt8]
    var allowedMethod: String?

    init(_ file: PageFile) {
        status = 200
        type = file.type
        body = file.bytes
    }

    init(_ line: JSONLine) {
        status = 200
        type = Self.json
        body = line.bytes
    }

    init(_ refusal: PageError) {
        status = refusal.status
        type = Self.json
        body = refusal.line.bytes
        allowedMethod = refusal.allowedMethod
    }

    private static let json = "application/json"

    /// The sources that the page may load: its own files and calls, nothing inline, and nothing from elsewhere.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
        "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// The fields of the head, in their order.
    var fields: [(name: String, value: String)] {
        var fields = [
            ("Content-Type", type), ("Content-Length", String(body.count)), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", Self.contentSecurityPolicy), ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Connection", "close"),
        ]
        if status == 401 { fields.append(("WWW-Authenticate", "Bearer")) }
        if let allowedMethod { fields.append(("Allow", allowedMethod)) }
        return fields
    }

    var head: HTTPResponseHead {
        HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(fields))
    }
}

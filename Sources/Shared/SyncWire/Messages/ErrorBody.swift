import SyncJSON

/// The body of an error response: `{"error":{"code":…,"message":…,"request":…}}`.
///
/// The client names each request by a random id in the `Tombolo-Request` header, and the server repeats that id in the
/// body. Only a body with the right id decides what becomes of a transaction: an error page of a gateway, a cached
/// response, or the JSON of another service does not contain it.
package struct ErrorBody: Hashable, Sendable {
    /// The code of an error. The set of codes is open: a newer server may send a code that this build does not know.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let malformed = Code(rawValue: "malformed")
        /// A transaction does not match its own hash: it was altered on its way. The client sends it again.
        package static let damaged = Code(rawValue: "damaged")
        package static let unauthorized = Code(rawValue: "unauthorized")
        package static let forbidden = Code(rawValue: "forbidden")
        /// The request names a different account than that of the token.
        package static let otherAccount = Code(rawValue: "other_account")
        package static let notFound = Code(rawValue: "not_found")
        package static let timedOut = Code(rawValue: "timed_out")
        package static let tooLarge = Code(rawValue: "too_large")
        package static let throttled = Code(rawValue: "throttled")
        package static let unavailable = Code(rawValue: "unavailable")
        package static let failed = Code(rawValue: "failed")

        package static let known: [Code] = [
            .malformed, .damaged, .unauthorized, .forbidden, .otherAccount, .notFound, .timedOut, .tooLarge, .throttled,
            .unavailable,
            .failed,
        ]
    }

    package let code: Code
    /// The message for a person: what was wrong and what was expected.
    package let message: String
    /// The id of the failed request; nil when the request carried none.
    package let request: WireRequestID?

    package init(_ code: Code, _ message: String, request: WireRequestID? = nil) {
        self.code = code
        self.message = message
        self.request = request
    }

    package func encode() -> [UInt8] {
        var writer = JSONWriter(reserving: 128 + message.utf8.count)
        writer.beginObject()
        writer.key("error")
        writer.beginObject()
        writer.member("code", code.rawValue)
        writer.member("message", message)
        writer.member("request", ifAny: request?.rawValue)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(WireError) -> ErrorBody {
        try Message.read(bytes, "error") { (reader) throws(JSONError) in
            var body: ErrorBody?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "error": body = try read(&reader)
                default: try reader.unknown(key, .ignoringUnknownKeys)
                }
            }
            return try reader.require(body, "error")
        }
    }

    private static func read(_ reader: inout JSONReader) throws(JSONError) -> ErrorBody {
        var code: Code?
        var message: String?
        var request: WireRequestID?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "code": code = Code(rawValue: try reader.text(bytes: WireLimits.opaqueBytes, "the code"))
            case "message": message = try reader.text(bytes: WireLimits.messageBytes, "the message")
            case "request":
                request = WireRequestID(rawValue: try reader.text(bytes: WireLimits.opaqueBytes, "the request id"))
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return ErrorBody(try reader.require(code, "code"), try reader.require(message, "message"), request: request)
    }
}

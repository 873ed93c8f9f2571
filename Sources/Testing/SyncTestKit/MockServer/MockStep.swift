public import SyncCore
public import SyncModel
import SyncTransportInProcess
import SyncWire

/// The kinds of calls that can be scripted.
public enum MockCall: String, Hashable, Sendable, CaseIterable {
    case hello, push, pull, fetch

    init(_ call: ServerCall) {
        self =
            switch call {
            case .hello: .hello
            case .push: .push
            case .pull: .pull
            case .fetch: .fetch
            }
    }
}

/// The way in which a `MockServer` handles one call.
public indirect enum MockStep: Hashable, Sendable {
    /// The authority handles the call.
    case pass
    /// The request never reaches the authority, and the call times out.
    case dropRequest
    /// The authority handles the request, and the reply never arrives.
    case dropReply
    /// The request arrives twice, and the second reply is returned.
    case duplicate
    /// Waits on the test's clock, then takes another step.
    case delay(Duration, then: MockStep)
    case fail(TransportFailure)
    /// Returns a canned reply without calling the authority.
    case reply(CannedReply)
    /// Returns the HTML sign-in page of a captive portal.
    case captivePortal
    /// Changes one byte of the request on its way. The offset wraps around at the end of the body.
    case corruptRequest(offset: Int, mask: UInt8)
    /// Changes one byte of the reply on its way. The offset wraps around at the end of the body.
    case corruptReply(offset: Int, mask: UInt8)
    /// Cuts the reply off after the given number of bytes.
    case cutReply(bytes: Int)
}

/// The way in which a `MockServer` handles the opening of a hint stream.
public enum MockHintStep: Hashable, Sendable {
    /// The authority opens the stream.
    case pass
    case fail(TransportFailure)
    /// Sends these hints, then ends the stream.
    case send([Hint])
}

/// A reply that does not come from the authority.
public enum CannedReply: Hashable, Sendable {
    case hello(ServerHello)
    case push(PushReply)
    case pull(PullReply)
    /// The reply to a fetch when the record does not exist.
    case noRecord
    case bytes([UInt8])

    /// Returns the encoded reply. A value that cannot be encoded becomes an empty body, which every client refuses.
    func body(_ catalog: SchemaCatalog) -> [UInt8]? {
        switch self {
        case .hello(let hello): HelloCodec.encode(hello)
        case .push(let reply): (try? PushCodec.encode(reply)) ?? []
        case .pull(let reply): (try? PullCodec.encode(reply, catalog: catalog)) ?? []
        case .noRecord: nil
        case .bytes(let bytes): bytes
        }
    }
}

/// An entry of a `MockServer`'s log.
public enum MockEntry: Hashable, Sendable {
    /// A call, the step that it took, and the length of its request in bytes.
    case call(MockCall, MockStep, bytes: Int)
    case hints([SpaceID])
}

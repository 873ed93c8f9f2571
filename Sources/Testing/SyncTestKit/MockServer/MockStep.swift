public import SyncCore
public import SyncModel
import SyncTransportInProcess
import SyncWire

/// The calls that a script knows.
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

/// The step of a `MockServer` for one call.
public indirect enum MockStep: Hashable, Sendable {
    /// The authority answers.
    case pass
    /// The request never arrives.
    case dropRequest
    /// The authority does what it was asked, and its reply never arrives.
    case dropReply
    /// The request arrives twice; the second reply is the one that is seen.
    case duplicate
    /// Waits by the test's clock, then takes another step.
    case delay(Duration, then: MockStep)
    case fail(TransportFailure)
    /// The authority is not asked.
    case reply(CannedReply)
    /// A page of HTML with which a network answers before one has signed in.
    case captivePortal
    /// One byte of the request is changed on its way; the offset counts around.
    case corruptRequest(offset: Int, mask: UInt8)
    /// One byte of the reply is changed on its way; the offset counts around.
    case corruptReply(offset: Int, mask: UInt8)
    /// The reply ends after so many bytes.
    case cutReply(bytes: Int)
}

/// The step of a `MockServer` when hints are opened.
public enum MockHintStep: Hashable, Sendable {
    /// The authority answers.
    case pass
    case fail(TransportFailure)
    /// These hints, and the end.
    case send([Hint])
}

/// A reply that no authority made.
public enum CannedReply: Hashable, Sendable {
    case hello(ServerHello)
    case push(PushReply)
    case pull(PullReply)
    /// There is no such record.
    case noRecord
    case bytes([UInt8])

    /// The reply as bytes. A value that has no form on the wire is answered as an empty body, which no client takes.
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

/// One line of a `MockServer`'s log.
public enum MockEntry: Hashable, Sendable {
    /// A call, the step that it took, and the length of its request.
    case call(MockCall, MockStep, bytes: Int)
    case hints([SpaceID])
}

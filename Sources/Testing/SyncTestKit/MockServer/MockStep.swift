public import SyncCore
public import SyncModel

/// The way in which a `MockServer` handles one call.
public indirect enum MockStep: Hashable, Sendable {
    /// The authority handles the call.
    case pass
    /// The request never reaches the authority, and the call fails with `timedOut` at once.
    case dropRequest
    /// The authority handles the request, and the call fails with `timedOut` at once.
    case dropResponse
    /// The request arrives twice, and the second response is returned.
    case duplicate
    /// Waits on the test's clock, then takes another step.
    case delay(Duration, then: MockStep)
    /// Throws this error without calling the authority.
    case fail(TransportError)
    /// Returns this response without calling the authority. A response that cannot be encoded becomes an empty body,
    /// which every client refuses.
    case response(ServerResponse)
    /// Returns these bytes without calling the authority.
    case responseBytes([UInt8])
    /// Returns the HTML sign-in page of a captive portal.
    case captivePortal
    /// Changes one byte of the request on its way. The offset wraps around at the end of the body.
    case corruptRequest(offset: Int, mask: UInt8)
    /// Changes one byte of the response on its way. The offset wraps around at the end of the body.
    case corruptResponse(offset: Int, mask: UInt8)
    /// Cuts the response off after the given number of bytes.
    case cutResponse(bytes: Int)
}

/// The way in which a `MockServer` handles the opening of a hint stream.
public enum MockHintStep: Hashable, Sendable {
    /// The authority opens the stream.
    case pass
    /// Opens no stream at the authority. Reading the first hint throws this error.
    case fail(TransportError)
    /// Sends these hints, then ends the stream.
    case send([Hint])
}

/// An entry of a `MockServer`'s log.
public enum MockEntry: Hashable, Sendable {
    /// A call, the step that it took, and the length of its request in bytes.
    case call(ServerCall, MockStep, bytes: Int)
    /// The opening of a hint stream for these spaces, whatever step it took.
    case hints([SpaceID])
}

/// The protocol version that this build uses.
public enum ProtocolVersion {
    /// The version of the protocol. A client does not sync with a server whose `protocolVersions` lack it.
    public static let current = 1
}

/// Who asks: made by the server from a credential, never by a client.
public struct Principal: Hashable, Sendable {
    public let name: String

    public init(name: String) {
        self.name = name
    }
}

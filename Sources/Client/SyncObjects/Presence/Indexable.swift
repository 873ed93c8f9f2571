/// An object that gets a number from the server.
public protocol Indexable: AnyObject, Sendable {
    /// The number that the server assigned, or −1 until it assigns one.
    var uid: Int { get }
}

extension Indexable {
    /// Whether the object exists on the server, which is the case when its uid is not negative.
    public var isValid: Bool { uid >= 0 }
}

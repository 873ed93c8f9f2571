/// Something that the server numbers.
public protocol Indexable: AnyObject, Sendable {
    /// The number that the server gave; −1 as long as it has given none.
    var uid: Int { get }
}

extension Indexable {
    /// Whether the object exists remotely: exactly when its uid is not negative.
    public var isValid: Bool { uid >= 0 }
}

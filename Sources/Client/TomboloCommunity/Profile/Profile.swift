public import SyncObjects

/// The public description of a user, written by that user.
public protocol Profile: Presentable, CustomStringConvertible {
    /// Set when the profile is made. Nil only while the profile itself is a placeholder.
    var user: (any User)? { get }

    /// The full name of the user; nil when there is none.
    ///
    /// A new value is normalized to NFC when it is set, and validated when it is written.
    var fullName: String? { get set }

    /// Checked by the address's own validator when it is written.
    var address: (any Address)? { get set }

    /// The address formatted on one line; empty when there is none.
    var displayAddress: String { get }
}

extension Profile {
    public var displayAddress: String { address?.display ?? "" }
}

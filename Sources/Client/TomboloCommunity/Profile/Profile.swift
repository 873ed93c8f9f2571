public import SyncObjects

/// The public description of a user, written by that user.
public protocol Profile: Presentable, CustomStringConvertible {
    /// The user whom the profile describes, set when the profile is made. Nil for a placeholder, and for a draft whose
    /// user has no id or belongs to another client.
    var user: (any User)? { get }

    /// The full name of the user; nil when there is none.
    ///
    /// A new value is normalized to NFC when it is set, and validated when it is written.
    var fullName: String? { get set }

    /// The postal address; nil when there is none. A new value is checked when it is written, if this build knows its
    /// kind.
    var address: (any Address)? { get set }

    /// The address formatted on one line; empty when there is none.
    var displayAddress: String { get }
}

extension Profile {
    public var displayAddress: String { address?.display ?? "" }
}

public import SyncObjects

/// A member of the community.
public protocol User: Presentable, CustomStringConvertible {
    /// The user's name; empty while the user is a placeholder.
    ///
    /// A new value is normalized to NFC when it is set, and validated when it is written.
    var username: String { get set }

    /// The user's avatar; nil for none. A new user has none, because an avatar needs an author.
    var avatar: (any Avatar)? { get set }
}

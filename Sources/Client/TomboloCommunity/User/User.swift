public import SyncObjects

/// A member of the community.
public protocol User: Presentable, CustomStringConvertible {
    /// Empty while the user is a placeholder. Normalized to NFC when it is set; checked when it is written.
    var username: String { get set }

    /// Nil until it is set, because an avatar's author must exist first.
    var avatar: (any Avatar)? { get set }
}

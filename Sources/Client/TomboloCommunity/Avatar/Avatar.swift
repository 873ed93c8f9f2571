public import SyncObjects

/// The picture that represents a user.
public protocol Avatar: Presentable, CustomStringConvertible {
    /// The URL of the picture, or of the standard picture when none was chosen.
    ///
    /// Setting the standard URL clears the choice. A new value is checked when it is written.
    var imageURL: String { get set }

    /// The user who made the avatar, set when the avatar is made. Nil for a placeholder, and for a draft whose author
    /// has no id or belongs to another client.
    var author: (any User)? { get }
}

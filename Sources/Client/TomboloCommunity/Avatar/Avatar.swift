public import SyncObjects

/// The picture that represents a user.
public protocol Avatar: Presentable, CustomStringConvertible {
    /// The URL of the picture, or of the standard picture when none was chosen. Setting the standard URL clears the
    /// choice. Checked when it is written.
    var imageURL: String { get set }

    /// Set when the avatar is made. Nil only while the avatar itself is a placeholder.
    var author: (any User)? { get }
}

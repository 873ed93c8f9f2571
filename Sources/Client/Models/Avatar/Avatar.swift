/// The picture with which a user shows themselves.
public protocol Avatar: Presentable, CustomStringConvertible {
    /// The standard picture when none was chosen; setting it to that chooses none. Checked when it is written.
    var imageURL: String { get set }

    /// Given when the avatar is made. Nil only while the avatar itself is a placeholder.
    var author: (any User)? { get }
}

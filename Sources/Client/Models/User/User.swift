/// A member of the community.
public protocol User: Presentable, CustomStringConvertible {
    /// Empty as long as the user is a placeholder. Composed to NFC when it is set; checked when it is written.
    var username: String { get set }

    /// Set later, if at all: the avatar's author has to exist first.
    var avatar: (any Avatar)? { get set }
}

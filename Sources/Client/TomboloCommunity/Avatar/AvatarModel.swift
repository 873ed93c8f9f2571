import SyncModel
public import SyncObjects
public import TomboloModeling

/// The declaration of avatars.
public struct AvatarModel: Model {
    public static let collection = "avatar"

    /// The URL of the picture, 1 to 2,048 bytes long, with the scheme `https`, `http`, or `file`; nil for the standard
    /// picture.
    public let imageURL = Field<String?>("image_url", .length(CommunityLimits.imageURLBytes), .rule(ImageURL.rule))
    /// The user who made the avatar. Required, so the server does not delete a user who still has avatars.
    public let author = Reference<UserModel>("author", .required)

    public init() {}
}

extension AvatarModel: DescribedModel {
    public static func description(of avatar: Live<AvatarModel>) -> String {
        "avatar of \(avatar.author.map { "\($0)" } ?? "nobody")"
    }
}

extension Live: Avatar where M == AvatarModel {
    public var imageURL: String {
        get { self[fields.imageURL] ?? ImageURL.standard }
        set { self[fields.imageURL] = newValue == ImageURL.standard ? nil : newValue }
    }

    public var author: (any User)? { self[fields.author] }
}

public import SyncModel

/// The declaration of avatars, as engine, stores and authority know them.
public enum AvatarSchema {
    public static let schema = ModelSchema(
        collection: "avatar",
        fields: [
            .text("image_url", bytes: CommunityLimits.imageURLBytes, rule: ImageURL.rule),
            .reference("author", to: "user", required: true),
        ])

    static let imageURL = schema.handle("image_url")
    static let author = schema.handle("author")

    static let kind = ModelKind(schema)
}

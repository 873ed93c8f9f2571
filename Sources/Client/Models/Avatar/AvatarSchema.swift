public import SyncModel

/// The schema of avatars, as the engine, the stores, and the authority know it.
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

public import SyncModel

/// The declaration of users, as engine, stores and authority know them.
public enum UserSchema {
    public static let schema = ModelSchema(
        collection: "user",
        fields: [
            .text("username", required: true, bytes: CommunityLimits.usernameBytes, rule: .name),
            .reference("avatar", to: "avatar"),
        ])

    static let username = schema.handle("username")
    static let avatar = schema.handle("avatar")

    static let kind = ModelKind(schema)
}

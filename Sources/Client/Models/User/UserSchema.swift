public import SyncModel

/// The schema of users, as the engine, the stores, and the authority know it.
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

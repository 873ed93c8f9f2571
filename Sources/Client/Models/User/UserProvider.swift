import SyncCore
public import SyncModel

/// Makes and finds users, so that code that needs users does not depend on how they are built.
public protocol UserProvider: Sendable {
    /// Makes a draft.
    func make(username: String) -> any User

    /// Returns the user at once from what is here, or a placeholder when it is not here.
    func user(uid: Int) throws(ModelFailure) -> any User

    func user(id: RecordID) throws(ModelFailure) -> any User

    /// Returns users in the order of creation.
    func users(limit: Int?, offset: Int) async throws(ModelFailure) -> [any User]

    /// Returns all users with this name. Names need not be unique.
    func users(named username: String) async throws(ModelFailure) -> [any User]

    /// All users, now and after each change.
    var updates: QueryUpdates<any User> { get }
}

extension UserProvider {
    public func users() async throws(ModelFailure) -> [any User] {
        try await users(limit: nil, offset: 0)
    }
}

/// Users over live objects of any source.
public struct LiveUsers: UserProvider {
    private let objects: LiveObjects

    public init(_ objects: LiveObjects) {
        self.objects = objects
    }

    public func make(username: String) -> any User {
        objects.make(LiveUser.self) { record in
            record.set(UserSchema.username, toText: FieldRule.name.normalized(username))
        }
    }

    public func user(uid: Int) throws(ModelFailure) -> any User {
        try objects.object(LiveUser.self, uid: uid)
    }

    public func user(id: RecordID) throws(ModelFailure) -> any User {
        try objects.object(LiveUser.self, id: id)
    }

    public func users(limit: Int?, offset: Int) async throws(ModelFailure) -> [any User] {
        try await objects.objects(
            LiveUser.self, matching: RecordQuery(LiveUser.kind.collection, limit: limit, offset: offset))
    }

    public func users(named username: String) async throws(ModelFailure) -> [any User] {
        let name = RecordFilter(UserSchema.username.name, equals: .text(FieldRule.name.normalized(username)))
        return try await objects.objects(
            LiveUser.self, matching: RecordQuery(LiveUser.kind.collection, where: [name]))
    }

    public var updates: QueryUpdates<any User> {
        objects.observe(LiveUser.self, matching: RecordQuery(LiveUser.kind.collection)).map { $0 }
    }
}

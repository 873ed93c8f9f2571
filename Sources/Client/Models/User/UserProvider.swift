import SyncCore
public import SyncModel

/// Makes users, and finds them. Who makes users holds a provider, not what users are made of.
public protocol UserProvider: Sendable {
    /// A draft, until it is created.
    func make(username: String) -> any User

    /// At once, from what is here; a placeholder when the user is not.
    func user(uid: Int) throws(ModelFailure) -> any User

    func user(id: RecordID) throws(ModelFailure) -> any User

    /// In the order in which they were made.
    func users(limit: Int?, offset: Int) async throws(ModelFailure) -> [any User]

    /// All users of that name: names need not differ.
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
        let name = RecordQuery.Condition(UserSchema.username.name, equals: .text(FieldRule.name.normalized(username)))
        return try await objects.objects(
            LiveUser.self, matching: RecordQuery(LiveUser.kind.collection, where: [name]))
    }

    public var updates: QueryUpdates<any User> {
        objects.observe(LiveUser.self, matching: RecordQuery(LiveUser.kind.collection)).map { $0 }
    }
}

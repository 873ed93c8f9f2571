import SyncCore
public import SyncModel

/// Makes profiles, and finds them.
public protocol ProfileProvider: Sendable {
    /// A draft, until it is created; a user who is a draft is created along with it.
    func make(user: any User, address: (any Address)?) -> any Profile

    /// At once, from what is here; a placeholder when the profile is not.
    func profile(uid: Int) throws(ModelFailure) -> any Profile

    func profile(id: RecordID) throws(ModelFailure) -> any Profile

    /// In the order in which they were made.
    func profiles(limit: Int?, offset: Int) async throws(ModelFailure) -> [any Profile]

    func profiles(of user: any User) async throws(ModelFailure) -> [any Profile]

    /// All profiles, now and after each change.
    var updates: QueryUpdates<any Profile> { get }
}

extension ProfileProvider {
    public func profiles() async throws(ModelFailure) -> [any Profile] {
        try await profiles(limit: nil, offset: 0)
    }
}

/// Profiles over live objects of any source.
public struct LiveProfiles: ProfileProvider {
    private let objects: LiveObjects

    public init(_ objects: LiveObjects) {
        self.objects = objects
    }

    public func make(user: any User, address: (any Address)?) -> any Profile {
        objects.make(LiveProfile.self) { record in
            record.set(ProfileSchema.user, to: user)
            if let address { record[ProfileSchema.address] = .json(address.json) }
        }
    }

    public func profile(uid: Int) throws(ModelFailure) -> any Profile {
        try objects.object(LiveProfile.self, uid: uid)
    }

    public func profile(id: RecordID) throws(ModelFailure) -> any Profile {
        try objects.object(LiveProfile.self, id: id)
    }

    public func profiles(limit: Int?, offset: Int) async throws(ModelFailure) -> [any Profile] {
        try await objects.objects(
            LiveProfile.self, matching: RecordQuery(LiveProfile.kind.collection, limit: limit, offset: offset))
    }

    public func profiles(of user: any User) async throws(ModelFailure) -> [any Profile] {
        guard let id = user.id else { return [] }
        let condition = RecordQuery.Condition(ProfileSchema.user.name, equals: .reference(id))
        return try await objects.objects(
            LiveProfile.self, matching: RecordQuery(LiveProfile.kind.collection, where: [condition]))
    }

    public var updates: QueryUpdates<any Profile> {
        objects.observe(LiveProfile.self, matching: RecordQuery(LiveProfile.kind.collection)).map { $0 }
    }
}

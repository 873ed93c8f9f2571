import SyncCore
public import SyncModel

/// Makes and finds profiles.
public protocol ProfileProvider: Sendable {
    /// Makes a draft. A draft user is created together with the profile.
    func make(user: any User, address: (any Address)?) -> any Profile

    /// Returns the profile at once from what is here, or a placeholder when it is not here.
    func profile(uid: Int) throws(ModelFailure) -> any Profile

    func profile(id: RecordID) throws(ModelFailure) -> any Profile

    /// Returns profiles in the order of creation.
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

/// A provider of profiles from the live objects of any source.
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
        let condition = RecordFilter(ProfileSchema.user.name, equals: .reference(id))
        return try await objects.objects(
            LiveProfile.self, matching: RecordQuery(LiveProfile.kind.collection, where: [condition]))
    }

    public var updates: QueryUpdates<any Profile> {
        objects.observe(LiveProfile.self, matching: RecordQuery(LiveProfile.kind.collection)).map { $0 }
    }
}

import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that a profile displays an address without knowing its kind.
@Suite struct AddressTests {
    static let winterfell = USAddress(street: "1 Godswood Way", city: "Winterfell", state: "AK", zip: "99501")
    static let raffles = SingaporeAddress(street: "1 Raffles Place", postalCode: "048616")
    static let nanjing = ChinaAddress(
        province: "Jiangsu", city: "Nanjing", district: "Xuanwu", street: "Beijing East Road 1", postalCode: "210008")

    @Test(arguments: CommunityComposition.allCases)
    func `a profile displays an address of any kind`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let user = world.users.make(username: "Ned")
        let profile = world.profiles.make(user: user, address: Self.winterfell)
        try await world.confirm(try await profile.create())
        #expect(profile.displayAddress == "1 Godswood Way, Winterfell, AK 99501")
        #expect(user.isValid == world.hasServer)
        #expect(profile.user === user)

        profile.address = Self.raffles
        #expect(profile.displayAddress == "1 Raffles Place, Singapore 048616")
        try await world.confirm(try await profile.save())
        profile.address = Self.nanjing
        profile.fullName = "Eddard Stark"
        try await world.confirm(try await profile.save())
        let found = try await world.profiles.profiles(of: user)
        #expect(found.first === profile)
        #expect(profile.displayAddress == "Beijing East Road 1, Xuanwu, Nanjing, Jiangsu 210008, China")
        #expect(profile.address as? ChinaAddress == Self.nanjing)

        profile.address = nil
        try await world.confirm(try await profile.save())
        #expect(profile.displayAddress == "")
    }

    @Test(arguments: CommunityComposition.allCases)
    func `an address of an unknown kind is kept unchanged`(kind: CommunityComposition) async throws {
        let json = #"{ "kind":"moon", "crater":"Tycho", "dome":7, "gate":"B" }"#
        let world = try kind.world()
        let user = world.users.make(username: "Ned")
        let profile = world.profiles.make(user: user, address: UnknownAddress(json: json))
        try await world.confirm(try await profile.create())
        let found = try await world.profiles.profiles().first
        let address = try #require(found?.address)
        #expect(address.kind == "moon")
        #expect(address.json == json)
        #expect(found?.displayAddress == "Tycho, B")

        found?.fullName = "Buzz"
        try await world.confirm(try #require(try await found?.save()))
        #expect(found?.address?.json == json, "an edit of another field leaves it alone")
    }

    @Test func `an address of a known kind with an unknown part is kept unchanged`() {
        let json = #"{"kind":"singapore","street":"1 Raffles Place","postal_code":"048616","unit":"12-01"}"#
        let store = InMemoryStore()
        let users = Community.cached(store: store, runtime: .mock())
        let profile = users.profiles.make(
            user: users.users.make(username: "Ned"), address: UnknownAddress(json: json))
        #expect(profile.address is UnknownAddress)
        #expect(profile.address?.json == json)
        #expect(profile.displayAddress == "1 Raffles Place, 048616, 12-01")
    }

    @Test func `addresses of known kinds can be read back from their JSON`() throws {
        let community = Community.mock()
        let user = community.users.make(username: "Ned")
        for address: any Address in [Self.winterfell, Self.raffles, Self.nanjing] {
            let profile = community.profiles.make(user: user, address: address)
            #expect(profile.address?.json == address.json)
            #expect(profile.address?.display == address.display)
            #expect(type(of: try #require(profile.address)) == type(of: address))
        }
        #expect(Self.raffles.json == #"{"kind":"singapore","street":"1 Raffles Place","postal_code":"048616"}"#)
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        let address: any Address
        let message: String
        var testDescription: String { message }
    }

    static let wrong = [
        Wrong(
            address: USAddress(street: "", city: "Winterfell", state: "AK", zip: "99501"),
            message:
                "the street of an address of kind us must be a line of 1 to 200 characters, without control characters"
        ),
        Wrong(
            address: USAddress(street: "1", city: "Winterfell", state: "XX", zip: "99501"),
            message: "the state of an address of kind us must be a state's two letters, such as NY"),
        Wrong(
            address: USAddress(street: "1", city: "Winterfell", state: "AK", zip: "99501-12"),
            message: "the zip of an address of kind us must be a ZIP code: 5 digits, or 5, a hyphen and 4"),
        Wrong(
            address: SingaporeAddress(street: "1", postalCode: "48616"),
            message: "the postal_code of an address of kind singapore must be 6 digits"),
        Wrong(
            address: ChinaAddress(province: "A", city: "B", district: "\u{7}", street: "D", postalCode: "210008"),
            message:
                "the district of an address of kind china must be a line of 1 to 200 characters, without control characters"
        ),
        Wrong(
            address: SingaporeAddress(street: "1 Raffles Place\u{2028}Singapore", postalCode: "048616"),
            message:
                "the street of an address of kind singapore must be a line of 1 to 200 characters, without control characters"
        ),
        Wrong(
            address: UnknownAddress(json: "[]"),
            message: "the text of an address of kind ? must be a JSON object with a kind"),
        Wrong(
            address: UnknownAddress(json: #"{"kind":"moon""#),
            message: "the text of an address of kind ? must be a JSON object with a kind"),
    ]

    @Test(arguments: wrong)
    func `an invalid address is refused with the part and the expected form`(wrong: Wrong) async {
        let community = Community.mock()
        let profile = community.profiles.make(user: community.users.make(username: "Ned"), address: wrong.address)
        let failure = await #expect(throws: ModelError.self) { try await profile.create() }
        #expect(failure?.code == .invalidValue)
        #expect(failure?.message == "profile.address is not a valid address: \(wrong.message)")
        #expect(profile.presence == .draft)
    }

    @Test func `a ZIP code with nine digits is valid`() throws {
        try USAddress(street: "1", city: "Winterfell", state: "AK", zip: "99501-1234").validate()
    }
}

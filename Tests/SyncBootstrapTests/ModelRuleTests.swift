import Foundation
import SyncAuthority
import SyncCore
import SyncModel
import SyncObjects
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that the server enforces the rules of the models, which are part of the schema, even if a client checks
/// nothing.
@Suite struct ModelRuleTests {
    /// Usernames, and whether they are allowed.
    static let names: [(text: String, isAllowed: Bool)] = [
        ("Ned Stark", true), ("Zo\u{EB}", true), ("\u{5317}\u{4EAC}", true), ("\u{1F469}", true),
        ("O'Brien-\u{DF}", true),
        // A combining mark is allowed only if no composed character exists.
        ("x\u{301}", true), ("Zo\u{65}\u{308}", false), ("\u{212B}", false),
        ("", false), (" ", false), (" Ned", false), ("Ned ", false), ("Ned\u{A0}", false), ("\u{3000}Ned", false),
        ("Ned\u{200B}", false), ("\u{200B}", false), ("\u{FEFF}Ned", false), ("N\u{202E}ed", false),
        ("Ned\u{2066}", false),
        ("Ned\u{AD}", false), ("Ned\u{200D}Stark", false), ("Ned\u{3164}", false), ("Ned\u{115F}", false),
        ("Ned\u{FE0F}", false), ("Ned\u{E0041}", false), ("\u{1B}[31mNed", false), ("Ned\u{7}", false),
        ("Ned\r\n", false),
        ("Ned\nStark", false), ("Ned\u{9B}31m", false), ("Ned\u{2028}Stark", false), ("Ned\u{E000}", false),
        ("Ned\u{0}", false), ("\u{301}", false), (String(repeating: "x", count: 65), false),
    ]

    static let addresses: [(text: String, isAllowed: Bool)] = [
        ("https://example.org/ned.png", true), ("HTTP://example.org", true), ("file:///home/ned/.face", true),
        ("https://example.org:8443/a?b#c", true), ("javascript:alert(1)", false), ("JaVaScRiPt://x%0aalert(1)", false),
        ("data:text/html,x", false), ("vbscript://x", false), ("https:ned", false), ("https://", false),
        ("https://?", false),
        ("file://", false), ("file://host/x", false), (" https://example.org", false),
        ("https://example.org/n d", false),
        ("https://example.org/\u{E9}", false), ("https://example.org/\u{202E}gnp", false), ("//example.org/x", false),
        ("ned.png", false), ("", false),
    ]

    /// Addresses of profiles as JSON, and whether they are allowed.
    static let homes: [(text: String, isAllowed: Bool)] = [
        (#"{"kind":"moon","crater":"Tycho"}"#, true), (#"{"kind":"singapore","street":"a\u001b[31mb"}"#, false),
    ]

    /// Returns the rejection by a client before it writes a creation, and by a server that receives it without that
    /// check.
    private static func verdicts(
        _ collection: CollectionName, _ patch: Patch
    ) throws -> (client: Rejection?, server: Rejection?) {
        let id = RecordID(bits: Identifier128(high: 1, low: 1))
        let mutation = Mutation(
            collection: collection, record: id, time: HybridTime(wall: Simulation.startTime, counter: 0),
            intent: .create(patch))
        let transaction = Transaction(space: .default, mutations: [mutation])
        let catalog = CommunityCatalog.catalog
        let epoch = Epoch(rawValue: "e")
        let authority = Authority(store: InMemoryAuthorityStore(epoch: epoch), catalog: catalog)
        let request = PushRequest(
            identity: ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 2)), incarnation: 0),
            epoch: epoch, acknowledged: .first,
            transactions: [
                NumberedTransaction(
                    number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
            ])
        let response = try authority.push(request, by: Principal(name: "anna"), now: Simulation.startTime)
        guard case .answered(let results, _, _) = response, let outcome = results.first?.outcome else {
            throw ModelError(.transport, "no outcome: \(response)")
        }
        let client = catalog.rejection(of: transaction)
        if case .rejected(let rejection) = outcome { return (client, rejection) }
        return (client, nil)
    }

    @Test(arguments: names) func `client and server apply the same rules to usernames`(text: String, isAllowed: Bool)
        throws
    {
        let verdicts = try Self.verdicts("user", ["username": .text(text)])
        #expect((verdicts.client == nil) == isAllowed, "\(verdicts)")
        #expect(verdicts.client == verdicts.server)
        if !isAllowed { #expect(verdicts.server?.message.hasPrefix("user.username ") == true) }
    }

    @Test(arguments: addresses)
    func `client and server apply the same rules to image URLs`(text: String, isAllowed: Bool) throws {
        let author = FieldValue.reference(RecordID(bits: Identifier128(high: 1, low: 9)))
        let verdicts = try Self.verdicts("avatar", ["image_url": .text(text), "author": author])
        #expect((verdicts.client == nil) == isAllowed, "\(verdicts)")
        // The author does not exist on the server.
        #expect(verdicts.server?.code == (isAllowed ? .danglingReference : .invalidValue))
    }

    @Test(arguments: homes)
    func `client and server apply the same rules to profile addresses`(text: String, isAllowed: Bool) throws {
        let user = FieldValue.reference(RecordID(bits: Identifier128(high: 1, low: 9)))
        let verdicts = try Self.verdicts("profile", ["user": user, "address": .json(text)])
        #expect((verdicts.client == nil) == isAllowed, "\(verdicts)")
        #expect(verdicts.server?.code == (isAllowed ? .danglingReference : .invalidValue))
    }

    @Test(arguments: names.filter(\.isAllowed)) func `a name in decomposed form is stored in composed form`(
        text: String, isAllowed: Bool
    ) throws {
        let typed = text.decomposedStringWithCanonicalMapping
        let prepared = try CommunityRules.prepared(["username": .text(typed)], for: "user")
        #expect(prepared["username"] == .text(text))
    }
}

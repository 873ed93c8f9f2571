import LoopbackPage
import PageChecks
import SyncAuthority
import SyncConcurrency
import SyncJSON
import SyncModel
import SyncProgram
import SyncSimulation
import SyncTestKit
import Testing

@testable import TomboloServer

@Suite struct ServerNewsTests {
    private static func state(_ clock: UInt64, models: Int64 = 0, members: Int64 = 0, epoch: String = "e")
        -> AuthorityState
    {
        AuthorityState(
            history: .fixed(Epoch(rawValue: epoch)), clock: HybridClock(last: HybridTime(rawValue: clock)),
            catalogRevision: models, memberRevision: members)
    }

    private static func extent(_ head: Int64) -> SpaceExtent { SpaceExtent(head: Version(head), horizon: .zero) }

    @Test func `each reader gets what has changed since its own number`() throws {
        var news = ServerNews()
        try news.note(Self.state(1)) { ["a": Self.extent(1), "b": Self.extent(1)] }
        let start = news.latest
        #expect(news.parts(since: start) == nil)
        try news.note(Self.state(2)) { ["a": Self.extent(2), "b": Self.extent(1)] }
        let middle = news.latest
        try news.note(Self.state(3, members: 9)) { ["a": Self.extent(2), "b": Self.extent(2), "c": Self.extent(1)] }
        #expect(news.parts(since: start) == .init(spaces: ["a", "b", "c"], members: true, models: false))
        #expect(news.parts(since: middle) == .init(spaces: ["b", "c"], members: true, models: false))
        #expect(news.parts(since: news.latest) == nil)
        let former = news.latest
        // A push that was rejected sets the clock alone; its client and its conflicts are news.
        try news.note(Self.state(4, models: 5, members: 9)) {
            ["a": Self.extent(2), "b": Self.extent(2), "c": Self.extent(1)]
        }
        #expect(news.parts(since: former) == .init(spaces: [], members: false, models: true))
    }

    @Test func `the extents are read only if the state has changed`() throws {
        var news = ServerNews()
        try news.note(Self.state(1)) { [:] }
        try news.note(Self.state(1)) {
            Issue.record("nothing has changed")
            return [:]
        }
    }

    @Test func `another history, and a number of another run, count as everything`() throws {
        var news = ServerNews()
        try news.note(Self.state(5)) { ["a": Self.extent(9)] }
        for number in [Int64.min, 0, news.latest + 1, .max] { #expect(news.parts(since: number) == .everything) }
        let before = news.latest
        try news.note(Self.state(1, epoch: "f")) { ["a": Self.extent(3)] }
        #expect(news.parts(since: before) == .everything)
    }

    /// A running simulation with a page that looks for news in virtual time.
    private func waiting(
        _ world: InspectorWorld, since: Int64, _ result: Guarded<JSONValue?>,
        ending: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) -> Task<Void, Never> {
        let runtime = world.simulation.makeRuntime(device: "page")
        let page = ServerPage(
            inspector: InspectorWorld.inspector(world.authority, runtime), runtime: runtime, command: "syncd inspect")
        return world.simulation.start("news") {
            do throws(PageError) {
                let line = try await page.answer(
                    .news, PageArguments(Array(#"{"since":\#(since)}"#.utf8)), ending: ending)
                result.withLock { $0 = try? JSONValue(line.bytes) }
            } catch {
                result.withLock { $0 = .string(error.message) }
            }
        }
    }

    @Test func `a call for news ends soon after another process has committed`() throws {
        let world = try InspectorWorld()
        var anna = InspectorWorld.Device(1, "anna")
        let result = Guarded<JSONValue?>(nil)
        _ = waiting(world, since: 1, result)
        try world.simulation.advance(by: .seconds(5))
        #expect(result.withLock { $0 } == nil)
        try world.push(&anna, InspectorWorld.create(1, [:]), space: "team")
        try world.simulation.advance(by: InspectLimits.newsInterval)
        let news = try #require(result.withLock { $0 })
        #expect(news["spaces"]?.array.compactMap(\.string) == ["team"] && news["news"]?.integer == 2)
        try world.simulation.finish()
    }

    @Test func `a call for news ends without news when the browser leaves, and when the command ends`() throws {
        let world = try InspectorWorld()
        let (result, end) = (Guarded<JSONValue?>(nil), Guarded<(@Sendable () -> Void)?>(nil))
        _ = waiting(world, since: 1, result) { ending in end.withLock { $0 = ending } }
        try world.simulation.advance(by: .seconds(5))
        end.withLock { $0 }?()
        try world.simulation.advance(by: InspectLimits.newsInterval)
        #expect(result.withLock { $0 }?["news"]?.integer == 1)
        result.withLock { $0 = nil }
        let task = waiting(world, since: 1, result)
        try world.simulation.advance(by: .seconds(5))
        task.cancel()
        try world.simulation.settle()
        #expect(result.withLock { $0 } == .string("syncd inspect has ended"))
        try world.simulation.finish()
    }

    @Test func `however many pages wait, the database is read once in an interval`() async throws {
        let world = try InspectorWorld()
        #expect(try await world.inspector.newsNumber() == 1)
        world.faults.arm(after: 0)
        for _ in 0..<10 { #expect(try await world.inspector.newsNumber() == 1, "this needs no read") }
        try world.simulation.advance(by: InspectLimits.newsInterval)
        await #expect(throws: PageError.self) { try await world.inspector.newsNumber() }
    }
}

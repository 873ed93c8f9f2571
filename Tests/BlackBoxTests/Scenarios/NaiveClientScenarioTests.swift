import Foundation
import TestRings
import Testing

/// Tests a client that was written only from the description of the protocol, together with real devices.
@Suite(.ring(.check), .serialized, .enabled(if: NaiveClient.isAvailable, "there is no python3 on this machine"))
struct BlackBoxNaiveClientTests {
    @Test(.timeLimit(.minutes(15))) func `an independent client ends with the same rows as the devices`()
        async throws
    {
        try await inTestbed { testbed, _, writers in
            let naive = try NaiveClient(in: testbed)
            defer { naive.proxy.stop() }
            try naive.expect("check-examples", NaiveClient.examples)
            let laptop = writers[0]
            var ids: [String] = []
            for index in 0..<5 { ids.append(try #require(try laptop.create("early.\(index)"))) }
            try laptop.device.expect(0, "sync")

            // The client pulls a snapshot in pages of one row, each with a separate process, while commits continue.
            var pages = 1
            while try naive.pull(limit: 1) {
                pages += 1
                guard pages == 3 else { continue }
                try laptop.update(ids[0], to: "during the snapshot")
                try laptop.device.expect(0, "sync")
            }
            try require(pages > 5, "the snapshot had \(pages) pages")
            try Self.requireEqualRows(naive, testbed, [laptop])

            // The server applies a push, but the response is lost. The repeated push must have no further effect.
            let (user, avatar) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
            try naive.expect("create", "user", user, "username=from python")
            try naive.expect("create", "avatar", avatar, "author=@\(user)", "image_url=https://example.org/p.png")
            // The hello and the push are the next two requests.
            let last = naive.proxy.traffic.requests + 2
            naive.proxy.setConditions(ProxyConditions(holdsResponsesFrom: last))
            let push = try naive.start(["push"])
            try eventually("the server has the push") {
                try require(push.isRunning, "the push ended early: \(push.errors)")
                return try Observation.server(testbed.server.database).rows["avatar \(avatar)"] != nil
            }
            naive.proxy.cutAll()
            try require(try push.wait(atMost: .processTimeout) == 1, "the lost push said: \(push.errors)")
            naive.proxy.setConditions(.fair)
            try naive.expect("sync")
            let repeated = try Observation.server(testbed.server.database).repeated
            try require(repeated.isEmpty, "the feed has twice: \(repeated)")

            // Both clients edit one record, and each deletes a record, without knowing the other's changes.
            try laptop.device.expect(0, "sync")
            try laptop.update(ids[1], to: "by the laptop")
            try naive.expect("update", "user", ids[1], "username=by python")
            try laptop.delete([ids[2]])
            try naive.expect("delete", "user", ids[3])
            try naive.expect("update", "user", user, "avatar=@\(avatar)")
            // This record is deleted by the time the edit arrives.
            try naive.expect("update", "user", ids[2], "username=too late")
            try Self.sync(laptop)
            try naive.expect("sync")
            for writer in writers + writers { try Self.sync(writer) }
            try naive.expect("sync")
            try Self.requireEqualRows(naive, testbed, writers)
            let rows = try naive.rows()
            try require(rows["user \(ids[3])"] == nil, "what the naive client deleted is still there")
            try require(rows["avatar \(avatar)"]?.contains(user) == true, "the avatar refers to no author")

            // After a while offline, the client continues from its cursor.
            for index in 0..<3 { try writers[1].create("later.\(index)") }
            try Self.sync(writers[1])
            try Self.sync(laptop)
            try require(try naive.pull(limit: 1), "three commits fit into a page of one change")
            try naive.expect("sync")
            try Self.requireEqualRows(naive, testbed, writers)
        }
    }

    private static func sync(_ writer: Writer) throws {
        let answer = try writer.device.run(["sync"])
        // Status 6 means synced with a new journal entry.
        try require([0, 6].contains(answer.status), "sync ended with \(answer.status): \(answer.errors)")
    }

    private static func requireEqualRows(_ naive: NaiveClient, _ testbed: Testbed, _ writers: [Writer]) throws {
        let held = try naive.rows()
        let server = try Observation.server(testbed.server.database).rows
        try require(!held.isEmpty && held == server, "the naive client holds \(held), the server \(server)")
        for writer in writers {
            let rows = try Observation.replica(writer.device.database).rows
            try require(rows == held, "\(writer.device.name) holds \(rows), the naive client \(held)")
        }
    }
}

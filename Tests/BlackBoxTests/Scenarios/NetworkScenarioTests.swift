import Foundation
import Glibc
import TestRings
import Testing

/// Tests devices on a network that loses, delays, or damages data.
@Suite(.ring(.test), .serialized) struct BlackBoxNetworkTests {
    @Test(.ring(.check), .timeLimit(.minutes(15))) func `a silent connection is abandoned and replaced by a new one`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let laptop = testbed.devices[0]
            laptop.setTimeouts(.milliseconds(1_500))
            try laptop.startWatch()
            try eventually("the laptop is in sync") { laptop.watchOutput.contains(#""in_sync":true"#) }
            try writers[0].create("on a good line")
            try writers[1].create("from elsewhere")
            try writers[1].device.expect(0, "sync")
            try eventually("the laptop has the write") {
                try Database(laptop.database).rows("SELECT 1 FROM user WHERE username = 'from elsewhere'").count == 1
            }
            laptop.proxy.setConditions(ProxyConditions(isHalfOpen: true))
            try eventually("the line is silent") { laptop.proxy.traffic.silenced > 0 }
            try writers[0].create("into the silence")
            try writers[1].create("meanwhile elsewhere")
            try writers[1].device.expect(0, "sync")
            try eventually("the laptop sees that it is offline") {
                laptop.lastWatchLine.contains(#""connection":"offline""#)
            }
            // The connections that are already open stay silent. Only new ones work.
            laptop.proxy.setConditions(.fair)
            try eventually("the laptop has caught up") {
                let texts = try Database(laptop.database).rows(
                    "SELECT 1 FROM user WHERE username = 'meanwhile elsewhere' AND (SELECT count(*) FROM sync_outbox) = 0"
                )
                return texts.count == 1
            }
            try testbed.requireNoFinding(ledger, quiet: .seconds(1))
        }
    }

    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `a device whose server is unreachable reports it and retries with pauses`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            let (laptop, proxy) = (testbed.devices[0], testbed.devices[0].proxy)
            try laptop.startWatch()
            try eventually("the laptop is in sync") { laptop.watchOutput.contains(#""in_sync":true"#) }
            proxy.setConditions(ProxyConditions(refuses: true))
            proxy.cutAll()
            try writer.create("while it is gone")
            try eventually("the laptop says that it is offline") {
                laptop.lastWatchLine.contains(#""connection":"offline""#)
            }
            let (before, start) = (proxy.traffic.connections, ContinuousClock.now)
            try eventually("a few tries") { proxy.traffic.connections >= before + 6 }
            usleep(1_000_000)
            let (tries, lasted) = (proxy.traffic.connections - before, ContinuousClock.now - start)
            // Each wait is at least 100 ms, and an attempt may need two connections.
            try require(tries <= 4 + 2 * Int(lasted / .milliseconds(100)), "I18: \(tries) connections in \(lasted)")
            try testbed.requireNoFinding(ledger, quiet: .seconds(1))
        }
    }

    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `after a connection is cut within a request or a response, the request takes effect once`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            let whole = try writer.trafficOfOneSync()
            for step in 0..<12 {
                try writer.create("cut.\(step)")
                if step % 4 == 3 { try writer.writeGroup("c\(step)", revision: 0, size: 20) }
                var conditions = ProxyConditions.fair
                if step % 3 == 2 {
                    conditions.cutAfterUp = whole.bytesUp * step / 12 + 1
                } else {
                    conditions.cutAfterDown = whole.bytesDown * step / 12 + 1
                }
                writer.device.proxy.setConditions(conditions)
                let status = try writer.device.run(["sync"]).status
                try require([0, 4].contains(status), "sync ended with \(status) when cut at step \(step)")
            }
            try require(writer.device.proxy.traffic.cut >= 6, "only \(writer.device.proxy.traffic.cut) were cut")
            try testbed.requireNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `damaged bytes under TLS are detected, and none of them are applied`()
        async throws
    {
        try await inTestbed(isEncrypted: true) { testbed, ledger, writers in
            let writer = writers[0]
            let whole = try writer.trafficOfOneSync()
            // A TLS record whose damaged length is too long never ends, so the timeout must be short.
            writer.device.setTimeouts(.milliseconds(1_500))
            for step in 0..<8 {
                try writer.create("damaged.\(step)")
                var conditions = ProxyConditions.fair
                if step % 2 == 0 {
                    conditions.damagedByteDown = whole.bytesDown * step / 8
                } else {
                    conditions.damage = 700
                }
                writer.device.proxy.setConditions(conditions)
                let answer = try writer.device.run(["sync"])
                try require([0, 4].contains(answer.status), "sync ended with \(answer.status): \(answer.errors)")
            }
            try require(writer.device.proxy.traffic.damaged >= 6, "\(writer.device.proxy.traffic.damaged) were damaged")
            try testbed.requireNoFinding(ledger)
        }
    }

    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `a damaged response head in plain text ends the attempt and loses no write`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            // The damaged byte is one of the first twelve of a connection's first response: "HTTP/1.1 200". With byte 7
            // damaged, the version is 1.0, which the client may accept.
            for place in 0..<12 {
                try writer.create("head.\(place)")
                writer.device.proxy.setConditions(ProxyConditions(damagedByteDown: place))
                let answer = try writer.device.run(["sync"])
                try require(answer.status != 0 || place == 7, "sync took an answer with byte \(place) damaged")
                try require(
                    [0, 4, 5].contains(answer.status), "sync ended with \(answer.status) at \(place): \(answer.errors)")
            }
            try testbed.requireNoFinding(ledger)
        }
    }
}

import Foundation
import Glibc
import TestRings
import Testing

/// Tests that `syncd` shuts down while connections in various states are open.
@Suite(.ring(.test), .serialized) struct BlackBoxShutdownTests {
    @Test(.ring(.check), .timeLimit(.minutes(15)), arguments: [false, true])
    func `a server with a shutdown deadline ends in any state of its connections`(isEncrypted: Bool) async throws {
        try await inTestbed(
            devices: ["laptop", "phone", "kiosk"], isEncrypted: isEncrypted,
            settings: ["SYNCD_SHUTDOWN_DEADLINE": "1s"]
        ) { testbed, ledger, writers in
            for device in testbed.devices {
                try device.startWatch()
                try eventually("\(device.name) is in sync") { device.watchOutput.contains(#""in_sync":true"#) }
            }
            // One event stream is on a working connection, one is on a connection that stays silent forever, and
            // requests are in flight.
            let silent = testbed.devices[1].proxy
            silent.setConditions(ProxyConditions(isHalfOpen: true))
            try eventually("the phone's line is silent") { silent.traffic.silenced > 0 }
            testbed.devices[2].proxy.setConditions(ProxyConditions(delay: .milliseconds(100)))
            for index in 0..<3 { try writers[2].create("on its way.\(index)") }
            // Two connections have no token: one sends nothing, and one stops in the middle of its first request.
            let strangers = [
                try #require(LoopbackSocket.connected(to: testbed.server.port)),
                try #require(LoopbackSocket.connected(to: testbed.server.port)),
            ]
            defer { for stranger in strangers { close(stranger) } }
            _ = "POST /v1/push HTTP/1.1\r\nHost:".withCString {
                send(strangers[1], $0, strlen($0), Int32(MSG_NOSIGNAL))
            }

            // Without a deadline the server would wait forever for the silent connections.
            let status = testbed.server.end(SIGTERM)
            try require(status == 0, "syncd ended with \(status ?? -1): \(testbed.server.errors)")
            try testbed.server.start()
            try testbed.requireNoFinding(ledger, quiet: .milliseconds(500))
        }
    }
}

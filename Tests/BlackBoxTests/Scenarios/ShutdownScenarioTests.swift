import Foundation
import Glibc
import TestRings
import Testing

/// `syncd` that is told to end, with all sorts of connections open.
@Suite(.ring(.test), .serialized) struct BlackBoxShutdownTests {
    @Test(.timeLimit(.minutes(15)), arguments: [false, true])
    func `a server that is told to end does so in time, whatever its connections are at`(isEncrypted: Bool) async throws
    {
        try await inTestbed(
            devices: ["laptop", "phone", "kiosk"], isEncrypted: isEncrypted,
            settings: ["SYNCD_SHUTDOWN_DEADLINE": "1s"]
        ) { testbed, ledger, writers in
            for device in testbed.devices {
                try device.startWatch()
                try eventually("\(device.name) is in sync") { device.watchOutput.contains(#""in_sync":true"#) }
            }
            // An open stream on a good line, one on a line that is silent forever, and requests on their way.
            let silent = testbed.devices[1].proxy
            silent.setConditions(ProxyConditions(isHalfOpen: true))
            try eventually("the phone's line is silent") { silent.traffic.silenced > 0 }
            testbed.devices[2].proxy.setConditions(ProxyConditions(delay: .milliseconds(100)))
            for index in 0..<3 { try writers[2].create("on its way.\(index)") }
            // And strangers: one that never says a word, one that stops in the middle of its first.
            let strangers = [
                try #require(LoopbackSocket.connected(to: testbed.server.port)),
                try #require(LoopbackSocket.connected(to: testbed.server.port)),
            ]
            defer { for stranger in strangers { close(stranger) } }
            _ = "POST /v1/push HTTP/1.1\r\nHost:".withCString {
                send(strangers[1], $0, strlen($0), Int32(MSG_NOSIGNAL))
            }

            // Without a deadline it would wait for the silent ones, which never close.
            let status = testbed.server.end(SIGTERM)
            try demand(status == 0, "syncd ended with \(status ?? -1): \(testbed.server.errors)")
            try testbed.server.start()
            try testbed.demandNoFinding(ledger, quiet: .milliseconds(500))
        }
    }
}

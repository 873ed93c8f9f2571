import Foundation
import Glibc
import TestRings
import Testing

/// Bytes that do not come, come late, or come wrong.
@Suite(.ring(.test), .serialized) struct BlackBoxNetworkTests {
    @Test(.timeLimit(.minutes(15))) func `a connection on which nothing comes any more is given up and made anew`()
        async throws
    {
        try await inTown { town, ledger, scribes in
            let laptop = town.devices[0]
            laptop.setTimeouts(.milliseconds(1_500))
            try laptop.startWatch()
            try eventually("the laptop is in sync") { laptop.watchOutput.contains(#""in_sync":true"#) }
            try scribes[0].create("on a good line")
            try scribes[1].create("from elsewhere")
            try scribes[1].device.expect(0, "sync")
            try eventually("a hint brought the write") {
                try Database(laptop.database).rows("SELECT 1 FROM user WHERE username = 'from elsewhere'").count == 1
            }
            laptop.proxy.setWeather(ProxyWeather(isHalfOpen: true))
            try eventually("the line is silent") { laptop.proxy.traffic.silenced > 0 }
            try scribes[0].create("into the silence")
            try scribes[1].create("meanwhile elsewhere")
            try scribes[1].device.expect(0, "sync")
            try eventually("the laptop sees that it is offline") {
                laptop.lastWatchLine.contains(#""connection":"offline""#)
            }
            // Open connections stay silent for ever; only new ones work.
            laptop.proxy.setWeather(.fair)
            try eventually("the laptop has caught up") {
                let texts = try Database(laptop.database).rows(
                    "SELECT 1 FROM user WHERE username = 'meanwhile elsewhere' AND (SELECT count(*) FROM sync_outbox) = 0"
                )
                return texts.count == 1
            }
            try town.demandNoFinding(ledger, quiet: .seconds(1))
        }
    }

    @Test(.timeLimit(.minutes(15))) func `a device whose server is gone says so, and tries again now and then`()
        async throws
    {
        try await inTown { town, ledger, scribes in
            let scribe = scribes[0]
            let (laptop, proxy) = (town.devices[0], town.devices[0].proxy)
            try laptop.startWatch()
            try eventually("the laptop is in sync") { laptop.watchOutput.contains(#""in_sync":true"#) }
            proxy.setWeather(ProxyWeather(refuses: true))
            proxy.cutAll()
            try scribe.create("while it is gone")
            try eventually("the laptop says that it is offline") {
                laptop.lastWatchLine.contains(#""connection":"offline""#)
            }
            let (before, start) = (proxy.traffic.connections, ContinuousClock.now)
            try eventually("a few tries") { proxy.traffic.connections >= before + 6 }
            usleep(1_000_000)
            let (tries, lasted) = (proxy.traffic.connections - before, ContinuousClock.now - start)
            // No wait is shorter than 100 ms; a try may need two connections.
            try demand(tries <= 4 + 2 * Int(lasted / .milliseconds(100)), "I18: \(tries) connections in \(lasted)")
            try town.demandNoFinding(ledger, quiet: .seconds(1))
        }
    }

    @Test(.timeLimit(.minutes(15))) func `an answer that is cut at byte k is asked for again, and takes effect once`()
        async throws
    {
        try await inTown { town, ledger, scribes in
            let scribe = scribes[0]
            let whole = try scribe.trafficOfOneSync()
            for step in 0..<12 {
                try scribe.create("cut.\(step)")
                if step % 4 == 3 { try scribe.writeGroup("c\(step)", revision: 0, size: 20) }
                var weather = ProxyWeather.fair
                if step % 3 == 2 {
                    weather.cutAfterUp = whole.bytesUp * step / 12 + 1
                } else {
                    weather.cutAfterDown = whole.bytesDown * step / 12 + 1
                }
                scribe.device.proxy.setWeather(weather)
                let status = try scribe.device.run(["sync"]).status
                try demand([0, 4].contains(status), "sync ended with \(status) when cut at step \(step)")
            }
            try demand(scribe.device.proxy.traffic.cut >= 6, "only \(scribe.device.proxy.traffic.cut) were cut")
            try town.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `damaged bytes under TLS are noticed, and nothing of them is applied`()
        async throws
    {
        try await inTown(isEncrypted: true) { town, ledger, scribes in
            let scribe = scribes[0]
            let whole = try scribe.trafficOfOneSync()
            // A record whose damaged length is too long never ends.
            scribe.device.setTimeouts(.milliseconds(1_500))
            for step in 0..<8 {
                try scribe.create("damaged.\(step)")
                var weather = ProxyWeather.fair
                if step % 2 == 0 {
                    weather.damagedByteDown = whole.bytesDown * step / 8
                } else {
                    weather.damage = 700
                }
                scribe.device.proxy.setWeather(weather)
                let answer = try scribe.device.run(["sync"])
                try demand([0, 4].contains(answer.status), "sync ended with \(answer.status): \(answer.errors)")
            }
            try demand(scribe.device.proxy.traffic.damaged >= 6, "\(scribe.device.proxy.traffic.damaged) were damaged")
            try town.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `a damaged head of an answer in plain text ends the try, and costs no write`()
        async throws
    {
        try await inTown { town, ledger, scribes in
            let scribe = scribes[0]
            // The first bytes of each connection's first answer: "HTTP/1.1 200".
            for place in 0..<12 {
                try scribe.create("head.\(place)")
                scribe.device.proxy.setWeather(ProxyWeather(damagedByteDown: place))
                let answer = try scribe.device.run(["sync"])
                try demand(answer.status != 0 || place == 7, "sync took an answer with byte \(place) damaged")
                try demand(
                    [0, 4, 5].contains(answer.status), "sync ended with \(answer.status) at \(place): \(answer.errors)")
            }
            try town.demandNoFinding(ledger)
        }
    }
}

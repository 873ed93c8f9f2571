import NIOCore
import NIOEmbedded
import TestRings
import Testing

@testable import SyncServerHTTP

/// The guards of sockets and of HTTP/2, on virtual time.
@Suite(.ring(.unit)) struct ConnectionGuardTests {
    @Test func `a connection whose peer takes nothing is closed`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        socket.isStuck = true
        channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(SyncServerLimits.writeTimeout) - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a peer that takes all in time keeps its connection`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        for _ in 0..<5 {
            socket.isStuck = true
            channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            socket.isStuck = false
            channel.flush()
        }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test func `a connection of HTTP2 without a stream is cut, at first soon`() throws {
        let watch = HTTP2Guard(idle: .seconds(75), activity: .init(isStranger: { false }))
        let channel = EmbeddedChannel(handler: watch)
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(watch.streamOpened())
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        watch.streamClosed()
        channel.embeddedEventLoop.advanceTime(by: .seconds(79))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)

        let silent = EmbeddedChannel(handler: HTTP2Guard(idle: .seconds(75)))
        try silent.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        silent.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(!silent.isActive)
    }

    @Test func `a stranger's connection of HTTP2 without a stream has the time of a head`() throws {
        let watch = HTTP2Guard(idle: .seconds(75))
        let channel = EmbeddedChannel(handler: watch)
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(watch.streamOpened())
        watch.streamClosed()
        channel.embeddedEventLoop.advanceTime(by: .seconds(14))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a stranger has few streams at a time, a member what HTTP2 allows`() {
        final class Door { var isStranger = true }
        let door = Door()
        let watch = HTTP2Guard(idle: .seconds(75), activity: .init(isStranger: { door.isStranger }))
        let room = (0..<20).map { _ in watch.streamOpened() }
        #expect(room.count { $0 } == SyncServerLimits.streamsOfStranger)
        watch.streamClosed()
        door.isStranger = false
        #expect((0..<50).allSatisfy { _ in watch.streamOpened() })
    }

    @Test func `a stream whose window stays closed is reset`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, StreamGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        socket.isStuck = true
        channel.writeAndFlush(ByteBuffer(string: "never taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(SyncServerLimits.writeTimeout))
        #expect(!channel.isActive)
    }
}

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.FragmentHandler;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A real Aeron peer: Aeron's Java client and its Java media driver. It has the output and the
 * commands of peer.py:
 *
 * <pre>
 * java -cp aeron-all.jar Peer.java ROLE --channel URI --stream N --messages FILE [--dir DIR]
 * </pre>
 *
 * ROLE is driver, publish, publish-exclusive or subscribe. Without --dir it starts an embedded
 * driver (settings by -Daeron...). FILE holds the messages to send or to expect, each a big-endian
 * 32-bit length and its bytes.
 */
public final class Peer {
    private static final long STALL_NS = 60_000_000_000L;
    private static final long END_NS = 15_000_000_000L;
    private static volatile boolean hasEnded;

    private static void tell(final String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static void fail(final String text) {
        System.err.println("Peer.java: " + text);
        System.err.flush();
        Runtime.getRuntime().halt(1);
    }

    private static final class Messages implements AutoCloseable {
        private final DataInputStream in;
        private int number;

        Messages(final String file) throws IOException {
            in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 20));
        }

        /** The next message, or null at the end. */
        byte[] next() throws IOException {
            final byte[] head = in.readNBytes(4);
            if (head.length == 0) {
                return null;
            }
            final int length =
                (head[0] & 0xFF) << 24 | (head[1] & 0xFF) << 16
                    | (head[2] & 0xFF) << 8 | (head[3] & 0xFF);
            number++;
            return in.readNBytes(length);
        }

        public void close() throws IOException {
            in.close();
        }
    }

    private static int publish(final Publication publication, final String file) throws Exception {
        long deadlineNs = System.nanoTime() + STALL_NS;
        while (!publication.isConnected()) {
            if (System.nanoTime() > deadlineNs) {
                fail("no subscriber");
            }
            Thread.sleep(1);
        }
        try (Messages messages = new Messages(file)) {
            byte[] message;
            while ((message = messages.next()) != null) {
                final UnsafeBuffer buffer = new UnsafeBuffer(message);
                deadlineNs = System.nanoTime() + STALL_NS;
                long result;
                while ((result = publication.offer(buffer, 0, message.length)) < 0) {
                    if (result == Publication.CLOSED
                        || result == Publication.MAX_POSITION_EXCEEDED) {
                        fail("message " + messages.number + ": offer gave " + result);
                    }
                    if (System.nanoTime() > deadlineNs) {
                        fail("message " + messages.number + " was not accepted: " + result);
                    }
                    Thread.yield();
                }
            }
            return messages.number;
        }
    }

    private static int subscribe(final Subscription subscription, final String file)
        throws Exception {
        try (Messages messages = new Messages(file)) {
            final ArrayDeque<byte[]> expected = new ArrayDeque<>();
            byte[] next = messages.next();
            final byte[][] wanted = {next};
            final FragmentHandler check = (buffer, offset, length, header) -> {
                if (wanted[0] == null) {
                    fail("one message too many: " + length + " bytes");
                }
                boolean isSame = wanted[0].length == length;
                for (int i = 0; isSame && i < length; i++) {
                    isSame = wanted[0][i] == buffer.getByte(offset + i);
                }
                if (!isSame) {
                    fail("message " + messages.number + ": " + length + " bytes differ from the "
                        + wanted[0].length + " expected");
                }
                try {
                    wanted[0] = messages.next();
                } catch (final IOException ex) {
                    fail(ex.toString());
                }
            };
            final FragmentHandler assembler = new FragmentAssembler(check);
            long movedNs = System.nanoTime();
            while (wanted[0] != null) {
                if (subscription.poll(assembler, 64) > 0) {
                    movedNs = System.nanoTime();
                } else if (System.nanoTime() > movedNs + STALL_NS) {
                    fail("stalled at message " + messages.number);
                } else {
                    Thread.yield();
                }
            }
            return messages.number;
        }
    }

    /** Wait until the last image is gone; no message may arrive any more. */
    private static String awaitEnd(final Subscription subscription) throws Exception {
        final long deadlineNs = System.nanoTime() + END_NS;
        boolean hasSaid = false;
        while (subscription.imageCount() > 0) {
            for (final Image image : subscription.images()) {
                hasSaid |= image.isEndOfStream();
            }
            final FragmentHandler late =
                (buffer, offset, length, header) -> fail("late: " + length + " bytes");
            if (subscription.poll(late, 64) > 0
                || System.nanoTime() > deadlineNs) {
                fail("an image is still there");
            }
            Thread.sleep(1);
        }
        return "ended " + (hasSaid || hasEnded ? "True" : "False");
    }

    private static void obey(final AutoCloseable handle) throws Exception {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = in.readLine()) != null) {
            switch (line.trim()) {
                case "close":
                    handle.close();
                    tell("closed");
                    break;
                // By reflection, because the older release lacks these methods.
                case "revoke":
                    ExclusivePublication.class.getMethod("revoke").invoke(handle);
                    tell("revoked");
                    break;
                case "reject":
                    Image.class.getMethod("reject", String.class)
                        .invoke(((Subscription)handle).images().get(0), "not this one");
                    tell("rejected");
                    break;
                case "await":
                    tell(awaitEnd((Subscription)handle));
                    break;
                default:
                    fail("unknown command " + line);
            }
        }
    }

    private static void run(
        final String role, final Map<String, String> options, final String dir) throws Exception {
        final Aeron.Context context = new Aeron.Context()
            .aeronDirectoryName(dir)
            .unavailableImageHandler((image) -> hasEnded |= image.isEndOfStream());
        try (Aeron aeron = Aeron.connect(context)) {
            final int stream = Integer.parseInt(options.get("stream"));
            final String channel = options.get("channel");
            if (!role.equals("subscribe")) {
                try (Publication publication = role.equals("publish")
                    ? aeron.addPublication(channel, stream)
                    : aeron.addExclusivePublication(channel, stream)) {
                    tell("ready " + dir + " " + aeron.clientId());
                    tell("done " + publish(publication, options.get("messages")));
                    obey(publication);
                }
            } else {
                try (Subscription subscription = aeron.addSubscription(channel, stream)) {
                    tell("ready " + dir + " " + aeron.clientId());
                    tell("done " + subscribe(subscription, options.get("messages")));
                    obey(subscription);
                }
            }
        }
    }

    public static void main(final String[] args) throws Exception {
        final Map<String, String> options = new HashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        final String role = args[0];
        if (options.containsKey("dir") && !role.equals("driver")) {
            run(role, options, options.get("dir"));
            return;
        }
        final MediaDriver.Context context = new MediaDriver.Context().dirDeleteOnShutdown(true);
        if (options.containsKey("dir")) {
            context.aeronDirectoryName(options.get("dir"));
        }
        final boolean isDriver = role.equals("driver");
        try (MediaDriver driver = isDriver
            ? MediaDriver.launch(context)
            : MediaDriver.launchEmbedded(context)) {
            if (isDriver) {
                tell("ready " + driver.aeronDirectoryName() + " 0");
                System.in.readAllBytes();
            } else {
                run(role, options, driver.aeronDirectoryName());
            }
        }
    }
}

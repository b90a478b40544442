import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The peer job (benchmarks/peers/job.py) on Kafka Streams.
 *
 * <p>Processor API with a cached store: the DSL's aggregate would either leave out outputs (the
 * cache keeps only the last of a key) or write the changelog for each turn.
 *
 * <p>Arguments: bootstrap group source output changelog (it names its own) guarantee, the commit
 * interval in ms or "default", and the store, "memory" or "rocksdb".
 */
public final class ContextsJob {
    private static final String STORE = "contexts";
    private static final int RECENT = 10;
    private static final ObjectMapper JSON =
            new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);
    private static final ObjectReader TURN = JSON.readerFor(Turn.class);
    private static final ObjectReader CONTEXT = JSON.readerFor(Context.class);
    private static final ObjectWriter WRITER = JSON.writerFor(Context.class);

    /** The fields the job reads; the parser skips the others. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Turn {
        public String eventId;
        public String sessionId;
        public String occurredAt;
        public String userInput;
        public String intent;
        public String topic;
        public String artifact;
    }

    /** A session's context, and its row in the store. */
    public static final class Context {
        public String sessionId;
        public String currentTopic;
        public List<String> recentIntents = new ArrayList<>(RECENT);
        public String lastArtifact;
        public String lastUserMessage = "";
        public String updatedAt = "";

        void add(Turn turn) {
            sessionId = turn.sessionId;
            if (turn.topic != null) {
                currentTopic = turn.topic;
            }
            if (turn.intent != null) {
                if (recentIntents.size() == RECENT) {
                    recentIntents.remove(0);
                }
                recentIntents.add(turn.intent);
            }
            if (turn.artifact != null) {
                lastArtifact = turn.artifact;
            }
            lastUserMessage = turn.userInput;
            if (turn.occurredAt.compareTo(updatedAt) > 0) {
                updatedAt = turn.occurredAt;
            }
        }
    }

    /** Rows are kept as their JSON, so that store, changelog and output encode a context once. */
    private static final class Update implements Processor<byte[], byte[], byte[], byte[]> {
        private ProcessorContext<byte[], byte[]> downstream;
        private KeyValueStore<byte[], byte[]> contexts;

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            downstream = context;
            contexts = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            byte[] row = updated(contexts.get(record.key()), record.value());
            contexts.put(record.key(), row);
            downstream.forward(record.withValue(row));
        }
    }

    private static byte[] updated(byte[] row, byte[] turn) {
        try {
            Context context = row == null ? new Context() : CONTEXT.readValue(row);
            context.add(TURN.readValue(turn));
            return WRITER.writeValueAsBytes(context);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Topology topology(String source, String output, String store) {
        Serde<byte[]> bytes = Serdes.ByteArray();
        KeyValueBytesStoreSupplier rows =
                store.equals("memory")
                        ? Stores.inMemoryKeyValueStore(STORE)
                        : Stores.persistentKeyValueStore(STORE);
        return new Topology()
                .addSource("turns", bytes.deserializer(), bytes.deserializer(), source)
                .addProcessor("update", Update::new, "turns")
                .addStateStore(
                        Stores.keyValueStoreBuilder(rows, bytes, bytes).withCachingEnabled(),
                        "update")
                .addSink("outputs", output, bytes.serializer(), bytes.serializer(), "update");
    }

    private static Properties settings(String bootstrap, String group, String guarantee, String ms) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, group);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, 10_000); // the other peers' too
        if (!ms.equals("default")) {
            settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, ms);
        }
        return settings;
    }

    public static void main(String[] given) {
        Topology topology = topology(given[2], given[3], given[7]);
        KafkaStreams streams =
                new KafkaStreams(topology, settings(given[0], given[1], given[5], given[6]));
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}

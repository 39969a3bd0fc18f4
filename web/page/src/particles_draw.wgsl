@group(0) @binding(1) var<storage, read> particles: array<Particle>;
@group(0) @binding(2) var<storage, read> counts: array<u32>;

struct Point {
  @builtin(position) position: vec4f,
  @location(0) color: vec3f,
  @location(1) corner: vec2f,
}

fn colour(crowd: f32) -> vec3f {
  let low = vec3f(0.09, 0.20, 0.42);
  let middle = vec3f(0.10, 0.62, 0.60);
  let high = vec3f(1.00, 0.78, 0.30);
  let top = vec3f(1.00, 0.97, 0.90);
  var mixed = mix(low, middle, smoothstep(0.0, 0.9, crowd));
  mixed = mix(mixed, high, smoothstep(0.9, 2.2, crowd));
  return mix(mixed, top, smoothstep(2.2, 4.5, crowd));
}

fn count_at(cell: vec2u) -> f32 {
  let at = cell % scene.side;
  return f32(counts[at.y * scene.side + at.x]);
}

// Between the centres of four cells, in particles of the mean cell.
fn crowd_at(position: vec2f) -> f32 {
  let at = fract(position) * f32(scene.side) + f32(scene.side) - 0.5;
  let cell = vec2u(at);
  let part = fract(at);
  let above = mix(count_at(cell), count_at(cell + vec2u(1u, 0u)), part.x);
  let below = mix(count_at(cell + vec2u(0u, 1u)), count_at(cell + vec2u(1u, 1u)), part.x);
  let mean_count = f32(scene.particle_count) / f32(scene.side * scene.side);
  return mix(above, below, part.y) / max(mean_count, 1.0);
}

@vertex
fn corner(@builtin(vertex_index) vertex: u32) -> Point {
  // Two triangles a particle: instances of so few vertices are slow on many devices.
  let particle = particles[vertex / 6u];
  let crowd = crowd_at(particle.xy);
  let k = vertex % 6u;
  let side = vec2f(f32(k == 1u || k == 3u || k == 4u), f32(k == 2u || k >= 4u)) * 2.0 - 1.0;
  let center = vec2f(particle.x * 2.0 - 1.0, 1.0 - particle.y * 2.0);
  let offset = side * scene.point_size * vec2f(1.0 / scene.aspect, 1.0);
  return Point(vec4f(center + offset, 0.0, 1.0), colour(crowd), side);
}

@fragment
fn paint(point: Point) -> @location(0) vec4f {
  let fade = max(0.0, 1.0 - dot(point.corner, point.corner) * 0.7);
  return vec4f(point.color * fade * scene.brightness, 0.0);
}

struct Scene {
  particle_count: u32,
  side: u32,         // cells a side of the square; a power of two
  grid_width: u32,   // workgroups a row of the dispatch
  time: f32,         // seconds
  step: f32,         // seconds
  aspect: f32,       // width / height of the picture
  point_size: f32,   // of a particle, in heights of the picture
  stir_strength: f32,
  stir: vec2f,       // where, from 0 to 1
  stir_speed: vec2f,
  brightness: f32,
}

@group(0) @binding(0) var<uniform> scene: Scene;

// Position (x, y from 0 to 1, without an edge) and velocity.
alias Particle = vec4f;

fn cell_of(position: vec2f) -> u32 {
  let at = min(vec2u(fract(position) * f32(scene.side)), vec2u(scene.side - 1u));
  return at.y * scene.side + at.x;
}
